import { createLogger } from '../../core/threads/logger.ts'
import { toScope } from '../../plugins/learned-routing/endpoints.ts'
import {
  type RolledBack,
  reportRouters,
  type ShownReport,
  type ShownRouter,
  showRouter,
} from '../../plugins/learned-routing/schemas.ts'
import { trainVersion } from '../../plugins/learned-routing/train.ts'
import { createTrainer } from '../gateway/learned-routing.ts'
import { openOwnLedger } from '../gateway/ledger.ts'
import { readSettings } from '../settings/settings.ts'
import type { AdminApi } from './admin-api.ts'
import type { CommandArgs } from './command.ts'
import { authorOf, withState } from './command-state.ts'
import { createRemoteGateway, remoteUrl } from './remote-gateway.ts'

/** A gateway whose routers are trained and activated. A missing group: the router for everyone. */
export interface RouterTarget {
  train(group: number | undefined): Promise<ShownRouter>
  report(group: number | undefined): Promise<ShownReport>
  activate(version: number): Promise<ShownRouter>
  rollBack(group: number | undefined): Promise<RolledBack>
}

/** Calls the gateway that `--url` or SIGNALBOX_URL names; without them, opens the state of the settings. */
export async function withRouterTarget(
  args: CommandArgs,
  run: (target: RouterTarget) => Promise<void>,
): Promise<void> {
  const url = remoteUrl(args)
  if (url) return run(createRemoteTarget(createRemoteGateway(url, args)))
  const author = authorOf(args)
  const settings = readSettings(args.environment)
  const logger = createLogger(settings.log_level)
  await withState(args.environment, async (state) => {
    const { routers } = state
    const ledger = openOwnLedger(settings, state.logId, logger)
    const settleLedger = async () => void (await ledger.find(''))
    const created = createTrainer(settings, { state, catalog: settings })
    const { thread } = created
    const trainer = { ...created.trainer, settleLedger }
    const { commands } = trainer
    try {
      await run({
        train: async (group) => showRouter(await trainVersion(toScope(group), author, trainer), routers),
        report: async (group) => reportRouters(routers, toScope(group)),
        activate: async (version) => showRouter(await commands.activate(version, author), routers),
        async rollBack(group) {
          const router = await commands.rollBack(toScope(group), author)
          return { version: router?.version ?? null }
        },
      })
    } finally {
      await thread.close()
      await ledger.close()
    }
  })
}

const PATH = '/admin/routers'

function createRemoteTarget({ call }: AdminApi): RouterTarget {
  const body = (group: number | undefined) => (group === undefined ? {} : { group_id: group })
  return {
    train: (group) => call(`${PATH}/train`, body(group)),
    report: (group) => call(`${PATH}/report${group === undefined ? '' : `?group=${group}`}`),
    activate: (version) => call(`${PATH}/${version}/activate`, {}),
    rollBack: (group) => call(`${PATH}/rollback`, body(group)),
  }
}
