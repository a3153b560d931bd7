import type { Command } from './command.ts'
import { JSON_OUTPUT, REASON, TARGET } from './shared-options.ts'

const GROUP = { group: { value: 'GROUP', summary: 'Id of a group; default: the router for everyone.' } }

/** The commands about learned routers. */
export const ROUTER_COMMANDS: readonly Command[] = [
  {
    name: 'router train',
    summary: 'Train a version of the learned router from the ratings of the last days.',
    details: 'Prints its figures. Activates it only if it is better and routing.activate says so.',
    options: { ...GROUP, ...JSON_OUTPUT, ...REASON, ...TARGET },
    async run(args) {
      const { trainRouterVersion } = await import('./router-commands.ts')
      return trainRouterVersion(args)
    },
  },
  {
    name: 'router report',
    summary: 'Show the active version of the learned router beside the newest one.',
    options: { ...GROUP, ...JSON_OUTPUT, ...TARGET },
    async run(args) {
      const { reportRouter } = await import('./router-commands.ts')
      return reportRouter(args)
    },
  },
  {
    name: 'router activate',
    operands: ['VERSION'],
    summary: 'Activate a version of the learned router for its users.',
    options: { ...REASON, ...TARGET },
    async run(args) {
      const { activateRouter } = await import('./router-commands.ts')
      return activateRouter(args)
    },
  },
  {
    name: 'router rollback',
    summary: 'Activate the version that was active before, or none.',
    options: { ...GROUP, ...REASON, ...TARGET },
    async run(args) {
      const { rollBackRouter } = await import('./router-commands.ts')
      return rollBackRouter(args)
    },
  },
]
