import type { JsonObject, ReplyEvent } from '../../core/contract/index.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import type { PromptContent, RequestQuery, StoredPrompt, StoredRecord } from '../ledger/index.ts'
import { findDifference } from './compare-recorded.ts'
import { type DecidedRequest, type Decider, decideRecorded } from './decide-recorded.ts'
import { type Decision, findEffects, nameOf, toDecision } from './decision.ts'
import type { CurrentCaller, RepliedRequest, WhatIfJob, WhatIfProgress } from './job.ts'
import { ADMITTED } from './limits-replay.ts'
import { findRecordedReplies, isReplyMasked } from './recorded-replies.ts'
import { ReplayedLimits, type ReplayLedger, type ReplayOptions, type VersionName } from './replayed-limits.ts'
import { DraftedRules, hasResponseRules, type RuleVersions } from './rule-versions.ts'
import type { WhatIfReport } from './schemas.ts'
import { type UnevaluatedReason, WhatIfTally } from './tally.ts'

export interface EvaluationServices {
  readonly ledger: ReplayLedger & {
    count(query: Pick<RequestQuery, 'filter' | 'before'>): Promise<number>
    promptsOf(records: readonly StoredRecord[]): Promise<ReadonlyMap<number, StoredPrompt>>
  }
  readonly before: Decider
  readonly after: Decider
  /** The budgets and limits that are in force. */
  readonly limits: Omit<ReplayOptions, 'costOf'>
  /** Returns users who exist. */
  callersOf(userIds: readonly number[]): Promise<readonly CurrentCaller[]>
  repliesOf(requests: readonly RepliedRequest[]): Promise<readonly (readonly JsonObject[] | null)[]>
  report(progress: WhatIfProgress): void
  isCancelled(): boolean
}

/** Requests that are read at once. */
const PAGE_SIZE = 250

/** Decides about recorded requests with the rules of today and with the drafts, and counts what differs. */
export async function evaluateDrafts(job: WhatIfJob, services: EvaluationServices): Promise<WhatIfReport> {
  const pages = await listPages(job, services)
  const options = { ...services.limits, costOf: services.before.costOf }
  const limits = await ReplayedLimits.open(job, pages.first, options, services.ledger)
  try {
    return await new Evaluation(job, services, limits).evaluate(pages)
  } finally {
    limits.close()
  }
}

interface Pages {
  /** The newest page first. */
  readonly list: readonly Page[]
  /** How many requests pass the filter, up to a million. */
  readonly matching: number
  /** The oldest request. */
  readonly first: StoredRecord | undefined
}

interface Page {
  /** The id after its newest request; undefined for the newest page. */
  readonly before: number | undefined
  readonly firstId: number
  readonly size: number
}

/** Finds the pages of the newest requests. They are not kept: 10,000 long traces are large. */
async function listPages({ filter, limit }: WhatIfJob, services: EvaluationServices): Promise<Pages> {
  const list: Page[] = []
  let left = limit
  let first: StoredRecord | undefined
  for (let before: number | undefined; left > 0 && !services.isCancelled(); ) {
    const size = Math.min(PAGE_SIZE, left)
    const { records, next } = await services.ledger.list({ filter, ...startAt(before), limit: size })
    first = records.at(-1) ?? first
    if (first !== undefined && records.length > 0)
      list.push({ before, firstId: first.id, size: records.length })
    left -= records.length
    if (next === undefined) return { list, matching: limit - left, first }
    before = next
  }
  const older = services.isCancelled() ? 0 : await services.ledger.count({ filter, ...startAt(first?.id) })
  return { list, matching: limit - left + older, first }
}

const startAt = (before: number | undefined) => (before === undefined ? {} : { before })

interface KnownCaller {
  readonly caller: CurrentCaller
  readonly versions: RuleVersions
  /** Whether replies are inspected, without or with the drafts. */
  readonly inspectsReplies: boolean
}

class Evaluation {
  readonly #job: WhatIfJob
  readonly #services: EvaluationServices
  readonly #limits: ReplayedLimits
  readonly #rules: DraftedRules
  readonly #tally: WhatIfTally
  readonly #callers = new Map<number, KnownCaller | undefined>()
  readonly #slice = createCooperativeYield(20)

  constructor(job: WhatIfJob, services: EvaluationServices, limits: ReplayedLimits) {
    this.#job = job
    this.#services = services
    this.#limits = limits
    this.#rules = new DraftedRules(job)
    this.#tally = new WhatIfTally(job, services.before.costOf)
  }

  /** In the order of their arrival, in which budgets and limits are used up. */
  async evaluate({ list, matching }: Pages): Promise<WhatIfReport> {
    this.#tally.matching = matching
    for (const { before, firstId, size } of list.toReversed()) {
      if (this.#services.isCancelled()) break
      const { filter } = this.#job
      const { records } = await this.#services.ledger.list({ filter, ...startAt(before), limit: size })
      await this.#evaluatePage(records.filter(({ id }) => id >= firstId).toReversed())
    }
    return this.#tally.report()
  }

  async #evaluatePage(records: readonly StoredRecord[]): Promise<void> {
    const prompts = await this.#services.ledger.promptsOf(records)
    await this.#findCallers(records)
    const replies = await this.#findReplies(records)
    for (const record of records) {
      if (this.#services.isCancelled()) return
      await this.#limits.countCopiesBefore(record)
      await this.#evaluateRecord(record, prompts.get(record.id), replies.get(record.id))
      if (this.#slice.isDue()) await this.#slice.yieldNow()
    }
    this.#services.report(this.#tally.progress())
  }

  async #findCallers(records: readonly StoredRecord[]): Promise<void> {
    const missing = new Set(records.map(({ userId }) => userId).filter((id) => !this.#callers.has(id)))
    if (missing.size === 0) return
    for (const id of missing) this.#callers.set(id, undefined)
    for (const caller of await this.#services.callersOf([...missing])) {
      const versions = this.#rules.versionsFor(caller)
      const inspectsReplies =
        this.#services.before.inspectReply !== undefined &&
        (hasResponseRules(versions.before) || hasResponseRules(versions.after))
      this.#callers.set(caller.userId, { caller, versions, inspectsReplies })
      this.#limits.addCaller(caller)
    }
  }

  #findReplies(records: readonly StoredRecord[]): Promise<ReadonlyMap<number, ReplyEvent>> {
    const inspected = records.filter(({ userId }) => this.#callers.get(userId)?.inspectsReplies)
    return findRecordedReplies(inspected, this.#services.repliesOf)
  }

  async #evaluateRecord(
    record: StoredRecord,
    prompt: StoredPrompt | undefined,
    recordedReply: ReplyEvent | undefined,
  ): Promise<void> {
    const known = this.#callers.get(record.userId)
    const groups = known?.versions.groups
    const skip = async (reason: UnevaluatedReason) => {
      await this.#limits.count(record, groups)
      this.#tally.addUnevaluated(reason)
    }
    const obstacle = findObstacle(record, prompt, known)
    if (obstacle !== undefined || prompt?.content == null || known === undefined)
      return skip(obstacle ?? 'not_recorded')
    const decided = await this.#decide(record, prompt.content, known)
    if (decided === undefined) return skip('failed')
    if (isModelGone(decided.before, record)) return skip('model_unavailable')
    const reply = known.inspectsReplies && !isReplyMasked(record) ? recordedReply : undefined
    const before = await this.#admit('before', decided.before, record, known, reply)
    const admitted = await this.#admit('after', decided.after, record, known, reply)
    // The same object tells that the drafts do not concern the request.
    const isSame = decided.after === decided.before && isSameAdmission(before, admitted)
    const after = isSame ? before : admitted
    this.#tally.add({ record, before, after, effects: findEffects(before, after) })
    if (known.inspectsReplies) this.#tally.replies.add(record, before, after, reply !== undefined)
    this.#tally.addRecorded(findDifference(record, prompt, before, known.caller))
  }

  async #decide(
    record: StoredRecord,
    content: PromptContent,
    { caller, versions }: KnownCaller,
  ): Promise<Readonly<Record<VersionName, DecidedRequest>> | undefined> {
    const before = await decideRecorded(record, content, caller, versions.before, this.#services.before)
    if (versions.after === versions.before) return before && { before, after: before }
    const after = await decideRecorded(record, content, caller, versions.after, this.#services.after)
    return before && after && { before, after }
  }

  /** Applies budgets and limits, and the response rules to the reply if it is of the same model. */
  async #admit(
    version: VersionName,
    decided: DecidedRequest,
    record: StoredRecord,
    { versions }: KnownCaller,
    reply: ReplyEvent | undefined,
  ): Promise<Decision> {
    const exchange = { ...decided.exchange }
    if (decided.error !== undefined) return toDecision(exchange, decided.error, ADMITTED)
    const admitted = await this.#limits.admit(version, exchange, record, versions.groups)
    const isAnswered = admitted.error === undefined && reply !== undefined
    const [first] = record.attempts
    const isSameModel = nameOf(first) === nameOf(exchange.route?.targets[0])
    const inspected = isAnswered && isSameModel ? await decided.inspect(reply) : undefined
    return toDecision(exchange, undefined, admitted, inspected)
  }
}

function findObstacle(
  { error }: StoredRecord,
  prompt: StoredPrompt | undefined,
  known: KnownCaller | undefined,
): UnevaluatedReason | undefined {
  if (error?.code === 'rate_limit_exceeded') return 'rate_limited'
  if (prompt === undefined) return 'not_recorded'
  if (prompt.omission !== null) return prompt.omission
  if (prompt.unreadable !== undefined) return 'unreadable'
  return known === undefined ? 'user_deleted' : undefined
}

function isSameAdmission(before: Decision, after: Decision): boolean {
  return before.error?.code === after.error?.code && nameOf(before.target) === nameOf(after.target)
}

/** The catalogue or the providers have changed since. */
function isModelGone({ error }: DecidedRequest, record: StoredRecord): boolean {
  return error !== undefined && ROUTING_ERRORS.has(error.code) && record.error?.code !== error.code
}

const ROUTING_ERRORS: ReadonlySet<string> = new Set([
  'model_not_found',
  'no_providers_available',
  'unsupported_parameter',
])
