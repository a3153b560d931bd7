import type { RuleTraceEntry } from '../../core/contract/index.ts'
import { showDraftId } from '../audit/index.ts'
import { type Decision, type Effect, type EvaluatedRequest, ruleKey } from './decision.ts'
import type { DraftOwner, DraftRule } from './draft-events.ts'
import type { WhatIfReport } from './schemas.ts'

type OwnerReport = WhatIfReport['drafts'][number]

interface RuleCounts {
  readonly rule: DraftRule
  before: number
  after: number
  changed: number
}

/** Counts the requests in which the drafts of one policy, user or group have a part. */
export class OwnerTally {
  readonly #owner: DraftOwner
  readonly #members: ReadonlySet<number>
  readonly #rules: readonly RuleCounts[]
  readonly #counts = { requests: 0, changed: 0, blocked: 0, masked: 0, warned: 0, routed: 0 }

  constructor(owner: DraftOwner) {
    this.#owner = owner
    this.#members = new Set(owner.members)
    this.#rules = owner.rules.map((rule) => ({ rule, before: 0, after: 0, changed: 0 }))
  }

  add(request: EvaluatedRequest): void {
    const { before, after, effects } = request
    // The drafts do not concern the user.
    if (before === after) return
    const isChanged = effects.length > 0
    for (const counts of this.#rules) {
      const key = ruleKey(counts.rule.kind, counts.rule.id)
      const [had, has] = [before.applied.all.has(key), after.applied.all.has(key)]
      if (had) counts.before += 1
      if (has) counts.after += 1
      if ((had || has) && isChanged) counts.changed += 1
    }
    const [did, does] = [this.#describe(before, request), this.#describe(after, request)]
    const isMember = this.#owner.type === 'group' && this.#members.has(request.record.userId)
    if (does !== '' || isMember) this.#counts.requests += 1
    const hasPart = did !== does || (does !== '' && effects.includes('masked_otherwise')) || isMember
    if (!isChanged || !hasPart) return
    this.#counts.changed += 1
    for (const count of COUNTED) if (effects.includes(count)) this.#counts[count] += 1
  }

  /** What the rules of the owner did to a request; empty if nothing. */
  #describe({ trace }: Decision, { record }: EvaluatedRequest): string {
    const { type, id } = this.#owner
    const isOwn = ({ origin }: RuleTraceEntry) =>
      type === 'policy' ? origin?.id === id : type === 'user' && origin === undefined && record.userId === id
    const applied = trace.filter((entry) => entry.outcome === 'applied' && isOwn(entry))
    return applied.map(({ kind, rule_id, action }) => `${ruleKey(kind, rule_id)} ${action}`).join()
  }

  report(): OwnerReport {
    const { type, id, name, action } = this.#owner
    return {
      type,
      id: showDraftId(id),
      name,
      action,
      ...this.#counts,
      rules: this.#rules.map(({ rule, ...counts }) => ({ ...rule, id: showDraftId(rule.id), ...counts })),
    }
  }
}

const COUNTED = ['blocked', 'masked', 'warned', 'routed'] as const satisfies readonly Effect[]
