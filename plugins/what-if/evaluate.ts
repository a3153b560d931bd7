import type { Host, JsonObject, Operation } from '../../core/contract/index.ts'
import { createUnsentExchange, NO_CLIENT } from '../../core/pipeline/unsent-exchange.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { decideExchange } from '../audit/simulation.ts'
import type { RequestPage, RequestQuery, StoredPrompt, StoredRecord } from '../ledger/store/queries.ts'
import type { PromptContent } from '../ledger/store/record.ts'
import { findDifference } from './compare-recorded.ts'
import { type Decision, findEffects, toDecision } from './decision.ts'
import type { CurrentCaller, WhatIfJob, WhatIfProgress } from './job.ts'
import { DraftedRules, type RuleVersion, type RuleVersions } from './rule-versions.ts'
import type { WhatIfReport } from './schemas.ts'
import { type UnevaluatedReason, WhatIfTally } from './tally.ts'

/**
 * A gateway that decides, of which there are two: a version of the rules is compiled once in each. See
 * docs/decisions/what-if.md, "The plugins decide in a thread".
 */
export interface Decider extends Pick<Host, 'costOf'> {
  /** Runs the phase `decide` of all plugins. */
  readonly decide: Host['decide']
}

export interface EvaluationServices {
  readonly ledger: {
    list(query: RequestQuery): Promise<RequestPage>
    promptsOf(records: readonly StoredRecord[]): Promise<ReadonlyMap<number, StoredPrompt>>
  }
  readonly before: Decider
  readonly after: Decider
  /** Returns users who exist. */
  callersOf(userIds: readonly number[]): Promise<readonly CurrentCaller[]>
  report(progress: WhatIfProgress): void
  isCancelled(): boolean
}

/** Requests that are read at once. */
const PAGE_SIZE = 250

/** Decides about recorded requests with the rules of today and with the drafts, and counts what differs. */
export async function evaluateDrafts(job: WhatIfJob, services: EvaluationServices): Promise<WhatIfReport> {
  const run = new Evaluation(job, services)
  return run.evaluate()
}

interface KnownCaller {
  readonly caller: CurrentCaller
  readonly versions: RuleVersions
}

class Evaluation {
  readonly #job: WhatIfJob
  readonly #services: EvaluationServices
  readonly #rules: DraftedRules
  readonly #tally: WhatIfTally
  readonly #callers = new Map<number, KnownCaller | undefined>()
  readonly #slice = createCooperativeYield(20)

  constructor(job: WhatIfJob, services: EvaluationServices) {
    this.#job = job
    this.#services = services
    this.#rules = new DraftedRules(job)
    this.#tally = new WhatIfTally(job, services.before.costOf)
  }

  async evaluate(): Promise<WhatIfReport> {
    const { filter, limit } = this.#job
    let left = limit
    for (let before: number | undefined; left > 0; ) {
      const start = before === undefined ? {} : { before }
      const page = await this.#services.ledger.list({ filter, ...start, limit: Math.min(PAGE_SIZE, left) })
      await this.#evaluatePage(page.records)
      left -= page.records.length
      this.#tally.isTruncated = page.next !== undefined
      if (page.next === undefined || this.#services.isCancelled()) break
      before = page.next
    }
    return this.#tally.report()
  }

  async #evaluatePage(records: readonly StoredRecord[]): Promise<void> {
    const prompts = await this.#services.ledger.promptsOf(records)
    await this.#findCallers(records)
    for (const record of records) {
      if (this.#services.isCancelled()) return
      await this.#evaluateRecord(record, prompts.get(record.id))
      if (this.#slice.isDue()) await this.#slice.yieldNow()
    }
    this.#services.report(this.#tally.progress())
  }

  async #findCallers(records: readonly StoredRecord[]): Promise<void> {
    const missing = new Set(records.map(({ userId }) => userId).filter((id) => !this.#callers.has(id)))
    if (missing.size === 0) return
    for (const id of missing) this.#callers.set(id, undefined)
    for (const caller of await this.#services.callersOf([...missing]))
      this.#callers.set(caller.userId, { caller, versions: this.#rules.versionsFor(caller) })
  }

  async #evaluateRecord(record: StoredRecord, prompt: StoredPrompt | undefined): Promise<void> {
    const known = this.#callers.get(record.userId)
    const obstacle = findObstacle(prompt, known)
    if (obstacle !== undefined || prompt?.content == null || known === undefined)
      return this.#tally.addUnevaluated(obstacle ?? 'not_recorded')
    const { versions, caller } = known
    const decide = (rules: RuleVersion, decider: Decider) =>
      decideRecorded(record, prompt.content as PromptContent, caller, rules, decider)
    const before = await decide(versions.before, this.#services.before)
    const isSame = versions.after === versions.before
    const after = isSame ? before : await decide(versions.after, this.#services.after)
    if (before === undefined || after === undefined) return this.#tally.addUnevaluated('failed')
    if (isModelGone(before, record)) return this.#tally.addUnevaluated('model_unavailable')
    const effects = findEffects(before, after)
    this.#tally.add({ record, before, after, effects })
    this.#tally.addRecorded(findDifference(record, prompt, before, caller))
  }
}

function findObstacle(
  prompt: StoredPrompt | undefined,
  known: KnownCaller | undefined,
): UnevaluatedReason | undefined {
  if (prompt === undefined) return 'not_recorded'
  if (prompt.omission !== null) return prompt.omission
  if (prompt.unreadable !== undefined) return 'unreadable'
  return known === undefined ? 'user_deleted' : undefined
}

/** The catalogue or the providers have changed since. */
function isModelGone({ error }: Decision, record: StoredRecord): boolean {
  return error !== undefined && ROUTING_ERRORS.has(error.code) && record.error?.code !== error.code
}

const ROUTING_ERRORS: ReadonlySet<string> = new Set([
  'model_not_found',
  'no_providers_available',
  'unsupported_parameter',
])

/** Returns undefined if a plugin failed. */
async function decideRecorded(
  { requestId, endpoint, keyId }: StoredRecord,
  { request, preferences, defaulted }: PromptContent,
  caller: CurrentCaller,
  { policies, rules }: RuleVersion,
  { decide }: Decider,
): Promise<Decision | undefined> {
  const { userId, name, plan, position, keys } = caller
  const models = keys.find(({ id }) => id === keyId)?.models
  const account = { userId, name, plan, keyId, position, ...(models && { models }) }
  // The parser returns what was recorded: the request in canonical form.
  const parser = {
    parseRequest: () => request,
    parsePreferences: () => preferences,
    defaults: defaulted,
    operation: OPERATIONS.get(endpoint) ?? ('chat' as const),
  }
  const call = { account, requestId, client: NO_CLIENT, headers: {} }
  const snapshot = { account, policies, policyPosition: 0, rules }
  const exchange = { ...(await createUnsentExchange(parser, NO_BODY, call, snapshot)), endpoint }
  try {
    return toDecision(exchange, await decideExchange(exchange, { decide }))
  } catch {
    return undefined
  }
}

const NO_BODY: JsonObject = {}

/** What requests of these endpoints ask a model for. Those of the others are chats. */
const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ['/v1/embeddings', 'embeddings'],
  ['/v1/moderations', 'moderation'],
])
