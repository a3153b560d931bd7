import { foldGrant, type Grant } from './events/grants.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** The programs that are signed in, in memory. */
export interface Grants extends SavedProjection {
  /** Undefined for an unknown, a revoked or an expired one. */
  find(id: string): Grant | undefined
}

const MIN_SWEEP_SIZE = 1000

export function createGrants(): Grants {
  const grants = new Map<string, Grant>()
  let nextSweepSize = MIN_SWEEP_SIZE

  /** Drops what has expired whenever the number has doubled. */
  function sweep(): void {
    if (grants.size < nextSweepSize) return
    const now = Date.now()
    for (const [id, { expiresAtMs }] of grants) if (expiresAtMs <= now) grants.delete(id)
    nextSweepSize = Math.max(MIN_SWEEP_SIZE, grants.size * 2)
  }

  return {
    name: 'grants',
    apply(event, record) {
      if (!foldGrant.has(event)) return
      const { grantId } = event.data
      const after = foldGrant(grants.get(grantId), event, record)
      if (after === undefined) grants.delete(grantId)
      else grants.set(grantId, after)
      sweep()
    },
    find(id) {
      const grant = grants.get(id)
      return grant !== undefined && Date.now() < grant.expiresAtMs ? grant : undefined
    },
    save: () => [...grants.values()].map((grant) => JSON.stringify(grant)),
    load(lines) {
      for (const line of lines) {
        const grant: Grant = JSON.parse(line.toString())
        grants.set(grant.id, grant)
      }
      sweep()
    },
  }
}
