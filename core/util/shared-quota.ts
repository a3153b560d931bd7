/** What several owners can hold together, and each of them. */
export interface QuotaLimits {
  readonly perOwner: number
  readonly total: number
}

/** Which limit an amount would exceed. */
export type ExceededQuota = keyof QuotaLimits

export interface SharedQuota<Owner> {
  /** Adds to what the owner holds. If it would exceed a limit, returns the limit, and adds nothing. */
  take(owner: Owner, amount: number): ExceededQuota | undefined
  release(owner: Owner, amount: number): void
}

export function createSharedQuota<Owner>({ perOwner, total }: QuotaLimits): SharedQuota<Owner> {
  const heldBy = new Map<Owner, number>()
  let heldByAll = 0
  return {
    take(owner, amount) {
      const held = (heldBy.get(owner) ?? 0) + amount
      if (held > perOwner) return 'perOwner'
      if (heldByAll + amount > total) return 'total'
      heldBy.set(owner, held)
      heldByAll += amount
      return undefined
    },
    release(owner, amount) {
      const held = (heldBy.get(owner) ?? 0) - amount
      if (held > 0) heldBy.set(owner, held)
      else heldBy.delete(owner)
      heldByAll -= amount
    },
  }
}
