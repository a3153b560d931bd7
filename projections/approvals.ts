import { type Approval, approvalKey, foldApproval, statusAt } from './events/approvals.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** The approvals of tool calls, in memory. */
export interface Approvals extends SavedProjection {
  find(id: string): Approval | undefined
  /** Those that are bound to the same call and rules, oldest first. See `approvalKey`. */
  withKey(key: string): readonly Approval[]
  /** Newest first. Of those that are over, some time later only the audit trail knows. */
  list(): readonly Approval[]
  /** How many of a user nobody has decided about, and that have not expired. */
  pendingOf(userId: number): number
  /** How many of all users. */
  pending(): number
}

/** Longer than the day for which ids are unique: a new approval never gets the id of a forgotten one. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1000

const MIN_SWEEP_SIZE = 1000

export function createApprovals(clock: () => number = Date.now): Approvals {
  const approvals = new Map<string, Approval>()
  const byKey = new Map<string, readonly string[]>()
  let nextSweepSize = MIN_SWEEP_SIZE

  function add(approval: Approval): void {
    approvals.set(approval.id, approval)
    const key = approvalKey(approval)
    const ids = byKey.get(key) ?? []
    if (!ids.includes(approval.id)) byKey.set(key, [...ids, approval.id])
  }

  function drop({ id, ...call }: Approval): void {
    approvals.delete(id)
    const key = approvalKey(call)
    const others = (byKey.get(key) ?? []).filter((other) => other !== id)
    if (others.length === 0) byKey.delete(key)
    else byKey.set(key, others)
  }

  /** Drops what is long over whenever the number has doubled. */
  function sweep(): void {
    if (approvals.size < nextSweepSize) return
    const limit = clock() - KEPT_MS
    for (const approval of approvals.values()) if (Date.parse(approval.expiresAt) < limit) drop(approval)
    nextSweepSize = Math.max(MIN_SWEEP_SIZE, approvals.size * 2)
  }

  function countPending(matches: (approval: Approval) => boolean): number {
    let count = 0
    const now = clock()
    for (const approval of approvals.values())
      if (matches(approval) && statusAt(approval, now) === 'pending') count++
    return count
  }

  return {
    name: 'approvals',
    apply(event, record) {
      if (!foldApproval.has(event)) return
      const after = foldApproval(approvals.get(event.data.approvalId), event, record)
      if (after !== undefined) add(after)
      sweep()
    },
    find: (id) => approvals.get(id),
    withKey: (key) => (byKey.get(key) ?? []).flatMap((id) => approvals.get(id) ?? []),
    list: () => [...approvals.values()].reverse(),
    pendingOf: (userId) => countPending((approval) => approval.userId === userId),
    pending: () => countPending(() => true),
    save: () => [...approvals.values()].map((approval) => JSON.stringify(approval)),
    load(lines) {
      for (const line of lines) add(JSON.parse(line.toString()))
      sweep()
    },
  }
}
