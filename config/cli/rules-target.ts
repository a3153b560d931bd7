import { readFileSync } from 'node:fs'
import { GatewayError, type JsonObject } from '../../core/contract/index.ts'
import { createLogger } from '../../core/process/logger.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { type ApplyTerms, applyFile, planFile } from '../../plugins/rules-file/apply.ts'
import { showPlan } from '../../plugins/rules-file/endpoints.ts'
import { exportRulesFile } from '../../plugins/rules-file/export.ts'
import type { RulesPlan } from '../../plugins/rules-file/planned.ts'
import { type RulesFile, SECTIONS } from '../../plugins/rules-file/schemas.ts'
import { openOfflineGateway } from '../gateway/offline-gateway.ts'
import { readSettings } from '../settings/settings.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { authorOf, withState } from './command-state.ts'

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
  const url = args.options.get('url') ?? args.environment.SIGNALBOX_URL
  if (url) return run(createRemoteTarget(url, args))
  const { environment } = args
  const author = authorOf(args)
  const settings = readSettings(environment)
  const logger = createLogger(settings.log_level)
  await withState(environment, async (state) => {
    const gateway = await openOfflineGateway(settings, state, logger)
    const services = { ...state, kinds: gateway.kinds }
    try {
      await run({
        async export({ sections, names }) {
          const chosen = SECTIONS.filter((name) => !sections || sections.split(',').includes(name))
          return exportRulesFile(services, { sections: chosen, names })
        },
        plan: async (file) => showPlan(await planFile(file, services)),
        async apply(file, terms) {
          const { plan, applied } = await applyFile(file, terms, services, author)
          return { ...showPlan(plan), applied }
        },
      })
    } finally {
      await gateway.close()
    }
  })
}

function createRemoteTarget(url: string, args: CommandArgs): RulesTarget {
  const key = readKey(args)
  const { reason } = authorOf(args)
  // Node encodes headers as Latin-1; the gateway reads the bytes as UTF-8.
  const header = reason && { 'x-change-reason': Buffer.from(reason, 'utf8').toString('latin1') }
  const base = `${url.replace(/\/+$/, '')}/admin/rules/file`

  async function call<Result>(path: string, body?: JsonObject): Promise<Result> {
    const response = await fetch(base + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...header },
      ...(body && { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
      throw new Error(`${new URL(base).origin} cannot be reached: ${errorMessage(cause)}`)
    })
    const answer = (await response.json().catch(() => ({}))) as Answer<Result>
    if (response.ok && answer.data !== undefined) return answer.data
    const { message = `${new URL(base).origin} answered with ${response.status}.`, errors } =
      answer.error ?? {}
    const code = response.headers.get('x-error-code') ?? 'internal_error'
    throw new GatewayError({ code, status: response.status, message, ...(errors && { errors }) })
  }

  return {
    export({ sections, names }) {
      const query = new URLSearchParams({ ...(sections && { sections }), ...(names && { names: 'true' }) })
      return call(`?${query}`)
    },
    plan: (file) => call('/plan', { file }),
    apply: (file, terms) => call('/apply', { file, ...terms }),
  }
}

interface Answer<Result> {
  readonly data?: Result
  readonly error?: {
    readonly message?: string
    readonly errors?: Readonly<Record<string, readonly string[]>>
  }
}

function readKey({ options, environment }: CommandArgs): string {
  const file = options.get('key-file')
  const key = file === undefined ? environment.SIGNALBOX_KEY : readFileSync(file, 'utf8')
  if (key?.trim()) return key.trim()
  throw new UsageError('The key of an operator is required: --key-file FILE, or SIGNALBOX_KEY.')
}
