import type { Logger } from 'pino'
import { type Model, optional } from '../../core/contract/index.ts'
import { NANOS_PER_USD } from '../../core/prices/cost.ts'
import { createClock } from '../../core/util/clock.ts'
import { createRandom } from '../../core/util/random.ts'
import { ToolFirewall } from '../../plugins/firewall/index.ts'
import { verdictOf } from '../../plugins/learned-routing/schemas.ts'
import { trainVersion } from '../../plugins/learned-routing/train.ts'
import { encodeRecords } from '../../plugins/ledger/store/batch-encoder.ts'
import type { GivenFeedback } from '../../plugins/ledger/store/feedback-queries.ts'
import type { Ledger } from '../../plugins/ledger/store/methods.ts'
import type { LedgerRecord } from '../../plugins/ledger/store/record.ts'
import { ToolRules } from '../../plugins/tool-rules/index.ts'
import { isRetired } from '../../providers/shared/catalog.ts'
import { createTrainer } from '../gateway/learned-routing.ts'
import { openOwnLedger } from '../gateway/ledger.ts'
import { openOfflineGateway } from '../gateway/offline-gateway.ts'
import { type OpenState, openLongRunningState } from '../gateway/state.ts'
import type { Settings } from '../settings/settings.ts'
import { DemoAgents } from './agents.ts'
import { DemoCast, type DemoKeys } from './cast.ts'
import { createDemoToolManager } from './manage-tools.ts'
import { type DemoStep, planDemo } from './plan-demo.ts'
import { rateDemoReply } from './ratings.ts'
import { createDemoTraffic, timeOfRecord } from './traffic.ts'

export interface DemoOptions {
  readonly days: number
  readonly seed: number
  /** The end of the period, as a Unix time in milliseconds. */
  readonly end: number
  /** Where the tool servers are, each at the path of its name. */
  readonly toolServersUrl: string
}

/** What a data folder was filled with, and how to sign in. */
export interface FilledDemo extends DemoKeys {
  readonly requests: number
  readonly events: number
}

/** What follows from an earlier step. */
interface LaterStep {
  readonly type: 'later'
  readonly time: number
  run(): Promise<unknown>
}

/** Records of one write to the ledger. */
const BATCH = 500

/**
 * Fills an empty data folder with the changes and the requests of a period. Changes are commands like those
 * of operators and users, at past times; the rules of each time decide about the requests.
 */
export async function fillDemo(
  settings: Settings,
  options: DemoOptions,
  logger: Logger,
): Promise<FilledDemo> {
  const random = createRandom(options.seed)
  const steps: (DemoStep | LaterStep)[] = [...planDemo(options, random)]
  let now = steps[0]?.time ?? options.end
  const state = await openLongRunningState(settings, logger, {
    signal: new AbortController().signal,
    decorateLog: (log) => log,
    takesSnapshots: true,
    clock: createClock(() => now),
  })
  const opened: { close(): Promise<void> }[] = [state]
  try {
    const ledger = openOwnLedger(settings, state.logId, logger)
    opened.push(ledger)
    const gateway = await openOfflineGateway(settings, state, logger)
    opened.push(gateway)
    const services = { ...state, ...gateway }
    const models = listNamedModels(settings.models)
    const { record_prompts: recordPrompts, max_prompt_chars: maxPromptChars } = settings.ledger
    const prompts = { recordPrompts, maxPromptChars, headers: () => [] }
    const traffic = createDemoTraffic({ ...services, models, prompts }, random)
    const url = options.toolServersUrl
    const cast = new DemoCast(services, createDemoToolManager(state, { settings, url, logger }))
    const deciders = await gateway.use({ rules: optional(ToolRules), firewall: optional(ToolFirewall) })
    const agents = new DemoAgents(
      {
        ...{ ...services, deciders, recordPrompts },
        now: () => now,
        end: options.end,
        later(delayMs, run) {
          const time = now + delayMs
          const next = steps.findIndex((step) => step.time > time)
          if (next !== -1) steps.splice(next, 0, { type: 'later', time, run })
        },
        authorOf: (operator, reason) => cast.authorOf(operator, reason),
      },
      createRandom(options.seed + 2),
    )
    const records: LedgerRecord[] = []
    const feedback: GivenFeedback[] = []
    // Of its own, so that requests do not depend on what is said about them.
    const opinions = createRandom(options.seed + 1)
    const qualityOf = new Map(settings.models.map(({ id, quality }) => [id, quality]))
    for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
      now = step.time
      if (step.type === 'later') await step.run()
      else if (step.type === 'operators') await cast.addOperators()
      else if (step.type === 'user') await cast.addUser(step.user)
      else if (step.type === 'change')
        await cast.makeChange(step.change, (period, userId) =>
          sumSpending(records, period === 'month' ? monthOf(now) : 0, userId),
        )
      else {
        const shares = cast.users().map((user) => ({ user, share: agents.shareOf(user) }))
        const { user } = random.weighted(shares)
        const key = random.chance(0.85) ? user.keys[0] : random.pick(user.keys)
        const account = cast.accountOf(user, key)
        const { sessionHeader } = user
        const session = sessionHeader === undefined ? undefined : agents.sessionOf(user, account)
        const headers = session && sessionHeader ? { [sessionHeader]: session.id } : {}
        const record = await traffic(now, user, account, headers)
        records.push(record)
        if (session && record.error === null) agents.useTools(session, record.latencyMs)
        const quality = qualityOf.get(record.model ?? '') ?? 0
        const opinion = rateDemoReply(record, { time: now, topic: user.topic, quality }, opinions)
        if (opinion !== undefined) feedback.push(opinion)
      }
    }
    for (let first = 0; first < records.length; first += BATCH)
      await ledger.write(encodeRecords(records.slice(first, first + BATCH)))
    for (let first = 0; first < agents.calls.length; first += BATCH)
      await ledger.saveToolCalls(agents.calls.slice(first, first + BATCH))
    for (const opinion of feedback) await ledger.giveFeedback(opinion)
    now = options.end
    await trainRouter(settings, state, ledger, feedback.length, cast)
    return { requests: records.length, events: state.subscription.position(), ...cast.keys() }
  } finally {
    for (const part of opened.toReversed()) await part.close()
  }
}

/**
 * Trains a router, if features are kept, and the period is long enough for its ratings. Activates it if it is
 * better, as an operator should.
 */
async function trainRouter(
  settings: Settings,
  state: OpenState,
  ledger: Ledger,
  ratings: number,
  cast: DemoCast,
): Promise<void> {
  const { learned, min_ratings } = settings.routing
  if (learned === 'off' || ratings < min_ratings) return
  const settleLedger = async () => void (await ledger.find(''))
  const created = createTrainer(settings, { state, catalog: settings })
  const { thread } = created
  const trainer = { ...created.trainer, settleLedger }
  try {
    const router = await trainVersion({ everyone: true }, cast.trainer(), trainer)
    if (verdictOf(router) !== 'not_better') await trainer.commands.activate(router.version, cast.trainer())
  } finally {
    await thread.close()
  }
}

/** The begin of the month, in which budgets count. */
function monthOf(time: number): number {
  const date = new Date(time)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}

/** US dollars of a user, or of all. */
function sumSpending(records: readonly LedgerRecord[], since: number, userId?: number): number {
  const counted = records.filter(
    (record) => timeOfRecord(record) >= since && (userId === undefined || record.userId === userId),
  )
  return counted.reduce((sum, { cost }) => sum + (cost ?? 0), 0) / NANOS_PER_USD
}

/** Models that requests ask for by name: the first few of each provider that it serves to everyone. */
function listNamedModels(models: readonly Model[]): readonly string[] {
  const isNamed = (model: Model) =>
    (model.operation ?? 'chat') === 'chat' && model.automatic !== false && !isRetired(model)
  const named = models.filter(isNamed)
  return [...new Set(named.map(({ provider }) => provider))]
    .flatMap((id) => named.filter(({ provider }) => provider === id).slice(1, 4))
    .map(({ id }) => id)
}
