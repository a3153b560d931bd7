import type { Host } from '../../core/contract/index.ts'
import { NANOS_PER_USD, roundUsd, toNanoUsd } from '../../core/prices/cost.ts'
import type { PromptOmission, StoredRecord } from '../ledger/index.ts'
import { timeOfRecordId } from '../ledger/index.ts'
import { DIFFERENCES, type Difference } from './compare-recorded.ts'
import { type Decision, EFFECTS, type Effect, type EvaluatedRequest, showDecision } from './decision.ts'
import type { WhatIfJob, WhatIfProgress } from './job.ts'
import type { WhatIfReport } from './schemas.ts'
import { CopiesTally } from './tally-copies.ts'
import { LimitsTally } from './tally-limits.ts'
import { OwnerTally } from './tally-owner.ts'
import { RepliesTally } from './tally-replies.ts'

/** Why a request could not be evaluated. */
export type UnevaluatedReason =
  | PromptOmission
  | 'not_recorded'
  | 'unreadable'
  | 'user_deleted'
  | 'rate_limited'
  | 'model_unavailable'
  | 'failed'

/** Counts what drafts do to requests, altogether and by draft. */
export class WhatIfTally {
  /** Requests that pass the filter; more than the limit if only the newest are evaluated. */
  matching = 0
  readonly #costOf: Host['costOf']
  readonly #maxExamples: number
  readonly #owners: readonly OwnerTally[]
  readonly #unevaluated = new Map<UnevaluatedReason, number>()
  readonly #differences = new Map<Difference, number>()
  readonly #effects = new Map<Effect, number>()
  readonly #examples: EvaluatedRequest[] = []
  readonly #before = { allowed: 0, refused: 0, masked: 0, warned: 0 }
  readonly #after = { allowed: 0, refused: 0, masked: 0, warned: 0 }
  readonly replies = new RepliesTally()
  readonly #limits = new LimitsTally()
  readonly #copies: Readonly<Record<'before' | 'after', CopiesTally>>
  /** Nano-dollars. */
  readonly #cost = { before: 0, after: 0, unknown: 0 }
  #requests = 0
  #evaluated = 0
  #unchanged = 0
  #reproduced = 0

  constructor({ drafts, examples }: Pick<WhatIfJob, 'drafts' | 'examples'>, costOf: Host['costOf']) {
    this.#costOf = costOf
    this.#maxExamples = examples
    this.#copies = { before: new CopiesTally(costOf), after: new CopiesTally(costOf) }
    this.#owners = drafts.map((owner) => new OwnerTally(owner))
  }

  addUnevaluated(reason: UnevaluatedReason): void {
    this.#requests += 1
    increment(this.#unevaluated, reason)
  }

  add(request: EvaluatedRequest): void {
    const { before, after, effects } = request
    this.#requests += 1
    this.#evaluated += 1
    addOutcome(this.#before, before)
    addOutcome(this.#after, after)
    this.#addCost(request)
    this.#limits.add(before, after)
    this.#copies.before.add(request.record, before)
    this.#copies.after.add(request.record, after)
    for (const effect of effects) increment(this.#effects, effect)
    for (const owner of this.#owners) owner.add(request)
    if (effects.length === 0) this.#unchanged += 1
    else this.#addExample(request)
  }

  /** Keeps the newest. */
  #addExample(request: EvaluatedRequest): void {
    if (this.#maxExamples === 0) return
    if (this.#examples.length === this.#maxExamples) this.#examples.shift()
    this.#examples.push(request)
  }

  /** Counts how the decision of today's rules differs from what was recorded. */
  addRecorded(difference: Difference | undefined): void {
    if (difference === undefined) this.#reproduced += 1
    else increment(this.#differences, difference)
  }

  /** At today's prices. A stored reply of the cache, and a refusal, cost nothing. */
  #addCost({ record, before, after, effects }: EvaluatedRequest): void {
    if (record.isCacheHit) return
    const costs = [before, after].map((decision) => this.#costOfDecision(record, decision))
    const [costBefore, costAfter] = costs
    if (costBefore !== undefined && costAfter !== undefined) {
      this.#cost.before += costBefore
      this.#cost.after += costAfter
    } else if (record.tokens !== null || effects.length > 0) this.#cost.unknown += 1
  }

  /** Nano-dollars; undefined if the tokens or the price are unknown. */
  #costOfDecision({ tokens }: StoredRecord, { error, target }: Decision): number | undefined {
    if (error !== undefined) return 0
    if (tokens === null || target === undefined) return undefined
    const cost = this.#costOf(tokens, target)
    return cost === undefined ? undefined : toNanoUsd(cost)
  }

  progress(): WhatIfProgress {
    return { evaluated: this.#evaluated, requests: this.#requests }
  }

  report(): WhatIfReport {
    const { before, after, unknown } = this.#cost
    const toUsd = (nanos: number) => roundUsd(nanos / NANOS_PER_USD)
    return {
      requests: this.#requests,
      matching: this.matching,
      is_truncated: this.matching > this.#requests,
      evaluated: this.#evaluated,
      not_evaluated: [...this.#unevaluated].map(([reason, requests]) => ({ reason, requests })),
      effects: {
        ...(Object.fromEntries(EFFECTS.map((effect) => [effect, this.#effects.get(effect) ?? 0])) as Record<
          Effect,
          number
        >),
        unchanged: this.#unchanged,
      },
      outcomes: { before: this.#before, after: this.#after },
      cost_usd: { before: toUsd(before), after: toUsd(after), change: toUsd(after - before), unknown },
      copies: { before: this.#copies.before.report(), after: this.#copies.after.report() },
      drafts: this.#owners.map((owner) => owner.report()),
      limits: this.#limits.report(),
      replies: this.replies.report(),
      examples: this.#examples.toReversed().map(showExample),
      reproduced: {
        same: this.#reproduced,
        different: this.#differences.get('different') ?? 0,
        explained: DIFFERENCES.flatMap((reason) => {
          const requests = this.#differences.get(reason)
          return requests === undefined || reason === 'different' ? [] : [{ reason, requests }]
        }),
      },
    }
  }
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function addOutcome(counts: Record<'allowed' | 'refused' | 'masked' | 'warned', number>, decision: Decision) {
  counts[decision.error === undefined ? 'allowed' : 'refused'] += 1
  // Nothing of a refused request is sent, so its text is not masked.
  if (decision.error !== undefined) return
  if (decision.applied.mask.size > 0) counts.masked += 1
  if (decision.applied.warn.size > 0) counts.warned += 1
}

function showExample({ record, before, after, effects }: EvaluatedRequest): WhatIfReport['examples'][number] {
  return {
    x_request_id: record.requestId,
    time: new Date(timeOfRecordId(record.id)).toISOString(),
    user_id: record.userId,
    effects: [...effects],
    before: showDecision(before),
    after: showDecision(after),
  }
}
