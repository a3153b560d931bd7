import type { EventLog, Exchange } from '../../core/contract/index.ts'
import { EventLogUnavailableError } from '../../core/contract/index.ts'
import { createBoundedCache } from '../../core/util/bounded-cache.ts'
import type { RouterVersion } from '../../projections/events/routers.ts'
import type { Routers } from '../../projections/routers.ts'
import { type LoadedRouter, loadRouter, readRouterModels } from './active-routers.ts'

/** How a simulated request is assessed in place of a real one. */
export interface ReplayedAssessment {
  /** The version of then; absent: that of now. */
  readonly past?: { readonly router: LoadedRouter | undefined }
  /** Whether a model is drawn as for the real request with this id. */
  readonly draws: boolean
}

/** The routers of a point in time, and the groups of the caller then. */
export interface PastRouters {
  readonly routers: Pick<Routers, 'activationsOf' | 'version'>
  readonly groups: readonly number[]
}

/**
 * Lets simulated requests be decided with the versions that were active at a point in time. See
 * docs/decisions/learned-routing.md, "A decision can be made again".
 */
export interface RouterReplay {
  /** Call it before the request is decided. `past`: undefined for the versions of now. */
  prepare(exchange: Exchange, past: PastRouters | undefined, draws: boolean): Promise<void>
  of(exchange: Exchange): ReplayedAssessment | undefined
}

/** Decoded versions that are kept: the same one is asked for again and again. */
const KEPT_VERSIONS = 4

export function createRouterReplay(
  log: Pick<EventLog, 'read'>,
  featureKeyId: () => string,
  minModelRatings: number,
): RouterReplay {
  const prepared = new WeakMap<Exchange, ReplayedAssessment>()
  const loaded = createBoundedCache<number, LoadedRouter>(KEPT_VERSIONS)

  async function load(version: RouterVersion | undefined): Promise<LoadedRouter | undefined> {
    if (version === undefined) return undefined
    const known = loaded.get(version.version)
    if (known !== undefined) return known
    try {
      const models = await readRouterModels(log, version)
      const router = loadRouter(version, models, featureKeyId(), minModelRatings)
      loaded.set(version.version, router)
      return router
    } catch (error) {
      if (EventLogUnavailableError.isInstance(error)) throw error
      // As for real requests: a version that cannot be used leaves the one before active.
      return undefined
    }
  }

  async function findRouter({ routers, groups }: PastRouters): Promise<LoadedRouter | undefined> {
    const scopes = [...groups.map((groupId) => ({ groupId })), { everyone: true } as const]
    for (const scope of scopes)
      for (const version of routers.activationsOf(scope).toReversed()) {
        const router = await load(routers.version(version))
        if (router !== undefined) return router
      }
    return undefined
  }

  return {
    async prepare(exchange, past, draws) {
      const router = past && (await findRouter(past))
      prepared.set(exchange, { ...(past && { past: { router } }), draws })
    },
    of: (exchange) => prepared.get(exchange),
  }
}
