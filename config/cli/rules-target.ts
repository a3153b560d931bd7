import { type ApplyTerms, applyFile, planFile } from '../../plugins/rules-file/apply.ts'
import { showPlan } from '../../plugins/rules-file/endpoints.ts'
import { exportRulesFile } from '../../plugins/rules-file/export.ts'
import type { RulesPlan } from '../../plugins/rules-file/planned.ts'
import { type RulesFile, SECTIONS } from '../../plugins/rules-file/schemas.ts'
import type { AdminApi } from './admin-api.ts'
import type { CommandArgs } from './command.ts'
import { authorOf, withGateway } from './command-state.ts'
import { createRemoteGateway, remoteUrl } from './remote-gateway.ts'

export type ShownPlan = Pick<RulesPlan, 'position' | 'changes' | 'warnings'>

export interface ShownApplication extends ShownPlan {
  readonly applied: readonly { readonly stream: string; readonly title: string }[]
}

export interface ExportQuery {
  readonly sections: string | undefined
  readonly names: boolean
}

/** A gateway whose rules are exported, planned and applied. */
export interface RulesTarget {
  export(query: ExportQuery): Promise<RulesFile>
  plan(file: RulesFile): Promise<ShownPlan>
  apply(file: RulesFile, terms: ApplyTerms): Promise<ShownApplication>
}

/** Calls the gateway that `--url` or SIGNALBOX_URL names; without them, opens the state of the settings. */
export async function withTarget(
  args: CommandArgs,
  run: (target: RulesTarget) => Promise<void>,
): Promise<void> {
  const url = remoteUrl(args)
  if (url) return run(createRemoteTarget(createRemoteGateway(url, args)))
  const author = authorOf(args)
  await withGateway(args.environment, (services) =>
    run({
      async export({ sections, names }) {
        const chosen = SECTIONS.filter((name) => !sections || sections.split(',').includes(name))
        return exportRulesFile(services, { sections: chosen, names })
      },
      plan: async (file) => showPlan(await planFile(file, services)),
      async apply(file, terms) {
        const { plan, applied } = await applyFile(file, terms, services, author)
        return { ...showPlan(plan), applied }
      },
    }),
  )
}

const PATH = '/admin/rules/file'

function createRemoteTarget({ call }: AdminApi): RulesTarget {
  return {
    export({ sections, names }) {
      const query = new URLSearchParams({ ...(sections && { sections }), ...(names && { names: 'true' }) })
      return call(`${PATH}?${query}`)
    },
    plan: (file) => call(`${PATH}/plan`, { file }),
    apply: (file, terms) => call(`${PATH}/apply`, { file, ...terms }),
  }
}
