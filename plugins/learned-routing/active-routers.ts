import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import {
  MAX_ROUTER_MODELS,
  type RouterScope,
  scopeName,
  type TrainedRouterData,
} from '../../core/events/router-events.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Routers, RouterVersion } from '../../projections/routers.ts'
import { decodeWeights } from './model.ts'
import { ModelTable } from './model-table.ts'

/** A version whose weights are decoded. */
export interface LoadedRouter {
  readonly version: number
  /** Models that it knows from enough ratings, by the catalogue's id. */
  readonly models: ModelTable
}

/**
 * The versions that decide. See docs/decisions/routing.md, "A version that cannot be used leaves the one
 * before active".
 */
export interface ActiveRouters {
  /** The version for a user: that of the user's first group that has one, else of everyone. */
  of(userId: number): LoadedRouter | undefined
  /** Decodes versions that were activated since. Called after events about routers, never by requests. */
  refresh(): void
}

export interface ActiveRouterServices {
  readonly routers: Pick<Routers, 'version' | 'activations'>
  readonly groups: Pick<Groups, 'groupsOf'>
  readonly featureKeyId: string
  readonly minModelRatings: number
  readonly logger: Pick<Logger, 'error' | 'info'>
  /** Called for each version that cannot be used. */
  countDamaged(): void
}

export function createActiveRouters(services: ActiveRouterServices): ActiveRouters {
  const { routers, groups, minModelRatings, logger } = services
  const loaded = new Map<
    number,
    { readonly source: RouterVersion | undefined; readonly router?: LoadedRouter }
  >()
  let byScope = new Map<string, LoadedRouter>()

  function load(version: number): LoadedRouter | undefined {
    const source = routers.version(version)
    const known = loaded.get(version)
    if (known !== undefined && known.source === source) return known.router
    try {
      const router = loadRouter(source, services.featureKeyId, minModelRatings)
      loaded.set(version, { source, router })
      return router
    } catch (error) {
      loaded.set(version, { source })
      services.countDamaged()
      const reason = errorMessage(error)
      logger.error({ version, reason }, 'version of the router refused; the one before stays active')
      return undefined
    }
  }

  function refresh(): void {
    const next = new Map<string, LoadedRouter>()
    for (const { scope, versions } of routers.activations()) {
      // The newest that can be used.
      for (const version of versions.toReversed()) {
        const router = load(version)
        if (router === undefined) continue
        next.set(scopeName(scope), router)
        break
      }
    }
    byScope = next
    const used = new Set([...next.values()].map(({ version }) => version))
    for (const [version, { router }] of loaded)
      if (router !== undefined && !used.has(version)) loaded.delete(version)
  }

  refresh()
  return {
    refresh,
    of(userId) {
      if (byScope.size === 0) return undefined
      const everyone = byScope.get('everyone')
      if (byScope.size === 1 && everyone !== undefined) return everyone
      for (const groupId of groups.groupsOf(userId)) {
        const router = byScope.get(scopeName({ groupId }))
        if (router !== undefined) return router
      }
      return everyone
    },
  }
}

/** Throws if the version cannot be used. */
export function loadRouter(
  router: RouterVersion | undefined,
  featureKeyId: string,
  minModelRatings: number,
): LoadedRouter {
  if (router === undefined) throw new Error('there is no such version')
  if (!router.isKept) throw new Error('its weights are not kept any more')
  if (checksumOf(router.models) !== router.checksum)
    throw new Error('its weights are not those that were trained')
  if (router.featureKeyId !== featureKeyId)
    throw new Error('it was trained with another FEATURES_KEY than this gateway has')
  const known = Object.entries(router.models).filter(([, { ratings }]) => ratings >= minModelRatings)
  if (known.length > MAX_ROUTER_MODELS)
    throw new Error(`it has ${known.length} models; ${MAX_ROUTER_MODELS} are the maximum`)
  const models = known.map(([id, { weights }]) => [id, decodeWeights(weights)] as const)
  return { version: router.version, models: new ModelTable(models) }
}

/** SHA-256 of the models of a version, in hex. */
export function checksumOf(models: TrainedRouterData['models']): string {
  const sorted = Object.keys(models).toSorted()
  const hash = createHash('sha256')
  for (const id of sorted) hash.update(JSON.stringify([id, models[id]?.ratings, models[id]?.weights]))
  return hash.digest('hex')
}

/** Whether two scopes are the same. */
export function isSameScope(left: RouterScope, right: RouterScope): boolean {
  return scopeName(left) === scopeName(right)
}
