import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import type { RouterScope } from '../../core/events/router-events.ts'
import type { Routers, RouterVersion } from '../../projections/routers.ts'
import type { ShownRouter } from './schemas.ts'

/** A version as the API shows it, without its weights. */
export function showRouter(router: RouterVersion, routers: Pick<Routers, 'activationsOf'>): ShownRouter {
  const { version, scope, models, figures, trainedFrom, trainedAt, position, checksum } = router
  return {
    version,
    group_id: 'groupId' in scope ? scope.groupId : null,
    is_active: routers.activationsOf(scope).at(-1) === version,
    models: Object.entries(models)
      .map(([model, { ratings }]) => ({ model, ratings }))
      .sort((a, b) => b.ratings - a.ratings),
    figures,
    trained_from: trainedFrom,
    trained_at: trainedAt,
    position,
    checksum,
  }
}

/** The active version of a scope, and the newest one if that is another. */
export function reportRouters(routers: Routers, scope: RouterScope) {
  const activeVersion = routers.activationsOf(scope).at(-1)
  const active = activeVersion === undefined ? undefined : routers.version(activeVersion)
  const newest = routers.versions().findLast((router) => isOfScope(router, scope))
  const candidate = newest?.version === activeVersion ? undefined : newest
  const judged = candidate ?? active
  return {
    active: active ? showRouter(active, routers) : null,
    candidate: candidate ? showRouter(candidate, routers) : null,
    verdict: judged ? describeVerdict(judged) : 'No version has been trained yet.',
    is_better: judged !== undefined && verdictOf(judged) === 'better',
    is_better_on_known_kinds: judged !== undefined && verdictOf(judged) !== 'not_better',
  }
}

export function isOfScope({ scope }: Pick<RouterVersion, 'scope'>, other: RouterScope): boolean {
  return ('groupId' in scope ? scope.groupId : 0) === ('groupId' in other ? other.groupId : 0)
}

export type RouterVerdict = 'better' | 'better_on_known_kinds' | 'not_better'

/** What the judge found. */
export function verdictOf({ figures }: Pick<RouterVersion, 'figures'>): RouterVerdict {
  if (figures.better === true) return 'better'
  return figures.better_on_known_kinds === true ? 'better_on_known_kinds' : 'not_better'
}

function describeVerdict(router: RouterVersion): string {
  const name = `Version ${router.version}`
  const verdict = verdictOf(router)
  const { reason } = router.figures
  if (verdict === 'better') {
    const where = 'on the newest fifth of the ratings, and not worse on new kinds of prompts'
    return `${name} is better than all baselines ${where}.`
  }
  if (verdict === 'better_on_known_kinds') {
    const why = typeof reason === 'string' ? reason : 'It was not judged on others.'
    return `${name} is better than all baselines on kinds of prompts that it has seen. ${why}`
  }
  if (typeof reason === 'string') return `${name} is not better: ${reason}`
  return `${name} is not better than all baselines on the newest fifth of the ratings.`
}

/** Returns what differs between two versions. */
export function diffRouters(from: RouterVersion, to: RouterVersion) {
  const before = flatten(from.figures)
  const after = flatten(to.figures)
  const names = [...new Set([...before.keys(), ...after.keys()])]
  const ids = [...new Set([...Object.keys(from.models), ...Object.keys(to.models)])]
  return {
    figures: names
      .map((name) => ({ name, from: before.get(name) ?? null, to: after.get(name) ?? null }))
      .filter((figure) => figure.from !== figure.to),
    models: ids
      .map((model) => ({
        model,
        from: from.models[model]?.ratings ?? 0,
        to: to.models[model]?.ratings ?? 0,
      }))
      .filter((model) => model.from !== model.to),
  }
}

/** Lists the values in an object by their paths, without curves. */
export function flatten(value: JsonObject, path = ''): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>()
  for (const [name, field] of Object.entries(value)) {
    const at = path + name
    if (name === 'curve') continue
    const inner = Array.isArray(field) ? Object.fromEntries(field.entries()) : field
    if (isJsonObject(inner)) for (const [key, leaf] of flatten(inner, `${at}.`)) found.set(key, leaf)
    else found.set(at, field)
  }
  return found
}
