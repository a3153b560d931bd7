import {
  isJsonObject,
  type JsonObject,
  Nullable,
  type Static,
  StrictObject,
  Type,
} from '../../core/contract/index.ts'
import { AnyFields, Count, TimeParameter, Timestamp } from '../../core/http/schemas.ts'
import type { RouterScope, RouterVersion } from '../../projections/events/routers.ts'
import type { Routers } from '../../projections/routers.ts'

export const versionParam = {
  version: Type.Integer({ minimum: 1, description: 'Version of the router.', examples: [3] }),
}

const version = Count('Version, counted over all scopes.')

export const GroupScope = Type.Optional(
  StrictObject(
    {
      group_id: Type.Optional(
        Type.Integer({ minimum: 1, description: 'The group that it is for. Missing: everyone.' }),
      ),
    },
    { $id: 'RouterScopeInput', description: 'Whose requests the router is for.' },
  ),
)

export const groupQuery = {
  group: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'Id of a group. Missing: the router for everyone.',
      examples: [7],
    }),
  ),
}

export const diffQuery = {
  from: Type.Integer({ minimum: 1, description: 'The first version.', examples: [1] }),
  to: Type.Integer({ minimum: 1, description: 'The second version.', examples: [2] }),
}

export const RouterSchema = Type.Object(
  {
    version,
    group_id: Nullable(Type.Integer({ format: 'int64' }), {
      description: 'The group that it is for; null: everyone.',
    }),
    is_active: Type.Boolean({ description: 'Whether it decides, or would with learned: on.' }),
    models: Type.Array(
      Type.Object({
        model: Type.String({ description: 'Id of the model in the catalogue.' }),
        ratings: Count('Ratings that it was trained from.'),
      }),
      { description: 'The models that it knows, most ratings first.' },
    ),
    figures: AnyFields('How it was judged, on the newest fifth of the ratings.'),
    trained_from: AnyFields('The ratings that it was trained from.'),
    trained_at: Timestamp('When it was trained.'),
    position: Count('Log position of the event.'),
    checksum: Type.String({ description: 'SHA-256 of the weights in hex.' }),
  },
  { $id: 'Router', description: 'A version of a learned router.' },
)

export type ShownRouter = Static<typeof RouterSchema>

const optionalRouter = (description: string) =>
  Nullable(Type.Object(RouterSchema.properties), { description })

export const RouterReportSchema = Type.Object(
  {
    active: optionalRouter('The version that is active; null if there is none.'),
    candidate: optionalRouter('The newest version, if it is another one; null otherwise.'),
    verdict: Type.String({ description: 'Whether the candidate, or else the active version, is better.' }),
    is_better: Type.Boolean({
      description:
        'Whether its interval is above prompt length, the constants and always the best model, and it is ' +
        'not below them on kinds of prompts that it has not seen.',
    }),
    is_better_on_known_kinds: Type.Boolean({
      description: 'Whether its interval is above them on the newest fifth of the ratings.',
    }),
  },
  { $id: 'RouterReport', description: 'The active version and the candidate.' },
)

export const RouterDiffSchema = Type.Object(
  {
    figures: Type.Array(
      Type.Object({
        name: Type.String({ description: 'Path of the figure, such as apgr.value.' }),
        from: Type.Unknown({ description: 'Its value in the first version; null if it is missing.' }),
        to: Type.Unknown({ description: 'Its value in the second version; null if it is missing.' }),
      }),
      { description: 'The figures that differ.' },
    ),
    models: Type.Array(
      Type.Object({
        model: Type.String({ description: 'Id of the model.' }),
        from: Count('Ratings in the first version; 0 if it does not know the model.'),
        to: Count('Ratings in the second version.'),
      }),
      { description: 'The models whose ratings differ.' },
    ),
  },
  { $id: 'RouterDiff', description: 'What differs between two versions.' },
)

export const RolledBackSchema = Type.Object(
  { version: Nullable(version, { description: 'The version that is active now; null: none.' }) },
  { $id: 'RolledBackRouter', description: 'The result of a roll-back.' },
)

export const ROUTER_WHAT_IF_LIMIT = { default: 2000, max: 20_000 } as const

export const routerWhatIfQuery = {
  since: Type.Optional(TimeParameter('Only requests since')),
  until: Type.Optional(TimeParameter('Only requests before')),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: ROUTER_WHAT_IF_LIMIT.max,
      default: ROUTER_WHAT_IF_LIMIT.default,
      description: 'Maximum number of requests, newest first.',
    }),
  ),
}

const side = (description: string) =>
  Type.Object(
    {
      models: Type.Array(
        Type.Object({
          model: Type.String({ description: 'Id of the model.' }),
          requests: Count('Requests that it gets.'),
          share: Type.Number({ description: 'The share of these requests, from 0 to 1.' }),
        }),
        { description: 'The models that are chosen, most requests first.' },
      ),
      cost_usd: Type.Number({ description: 'Cost of these requests, from their recorded tokens.' }),
      quality: Nullable(Type.Number(), {
        description: 'Mean P(good | prompt) by the candidate, of the requests whose model it knows.',
      }),
    },
    { description },
  )

export const RouterWhatIfSchema = Type.Object(
  {
    version,
    requests: Count('Automatic choices with kept features that were decided again.'),
    changed: Count('Requests that another model would get.'),
    recorded: side('As it was.'),
    candidate: side('As it would be.'),
  },
  { $id: 'RouterWhatIf', description: 'What a version would have done to recorded requests.' },
)

export type RouterWhatIf = Static<typeof RouterWhatIfSchema>

export type ShownReport = Static<typeof RouterReportSchema>

export type RolledBack = Static<typeof RolledBackSchema>

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
