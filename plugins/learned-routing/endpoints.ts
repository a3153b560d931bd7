import {
  data,
  type Endpoint,
  type EventLog,
  endpoint,
  GatewayError,
  operator,
  Type,
} from '../../core/contract/index.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import { NoFields } from '../../core/http/schemas.ts'
import { asOfQuery, WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { parseAsOf, parseTime } from '../../core/util/as-of.ts'
import type { RouterScope, RouterVersion, TrainedModels } from '../../projections/events/routers.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Routers } from '../../projections/routers.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import { DAY_MS } from '../ledger/index.ts'
import { readRoutersAt } from './active-routers.ts'
import { type RouterCommands, requireRouter, routerNotFoundError } from './router-commands.ts'
import {
  diffQuery,
  diffRouters,
  GroupScope,
  groupQuery,
  ROUTER_WHAT_IF_LIMIT,
  RolledBackSchema,
  RouterDiffSchema,
  RouterReportSchema,
  RouterSchema,
  type RouterWhatIf,
  RouterWhatIfSchema,
  reportRouters,
  routerWhatIfQuery,
  showRouter,
  versionParam,
} from './schemas.ts'
import { type TrainerServices, trainVersion } from './train.ts'

/** What the endpoints for routers depend on. */
export interface RouterServices {
  readonly routers: Routers
  readonly groups: Pick<Groups, 'group'>
  readonly log: Pick<EventLog, 'read'>
  readonly subscription: Pick<Subscription, 'position'>
  readonly commands: RouterCommands
  readonly trainer: TrainerServices
  /** Decides recorded requests again with a version. Rejects if it cannot be used or the signal aborts. */
  replay(
    router: RouterVersion,
    models: TrainedModels,
    range: ReplayRange,
    signal: AbortSignal,
  ): Promise<RouterWhatIf>
}

/** Which requests are decided again: Unix times in milliseconds, and their maximum number. */
interface ReplayRange {
  readonly since: number
  readonly until: number
  readonly limit: number
}

const common = { tags: ['routers'] }
const reads = { ...common, method: 'GET', access: operator('auditor') } as const
const changes = { ...common, method: 'POST', access: operator('editor') } as const

/** Creates the endpoints `/admin/routers`. */
export function createRouterEndpoints(services: RouterServices): readonly Endpoint[] {
  const changing = createChangeEndpoints(services)
  return [...createReadEndpoints(services), ...changing, createWhatIfEndpoint(services)]
}

function createReadEndpoints({ routers, log, subscription }: RouterServices): readonly Endpoint[] {
  return [
    endpoint({
      ...reads,
      path: '/admin/routers',
      operationId: 'listRouters',
      summary: 'Lists the versions of learned routers, newest first.',
      query: asOfQuery,
      responses: {
        200: {
          description: 'All versions.',
          body: data(Type.Array(RouterSchema, { description: 'The versions, newest first.' })),
        },
      },
      async handle({ query }) {
        const asOf = query.as_of === undefined ? undefined : parseAsOf(query.as_of, 'as_of')
        const source = asOf === undefined ? routers : await readRoutersAt(log, subscription, asOf)
        const shown = source.versions().map((router) => showRouter(router, source))
        return { status: 200, body: { data: shown.reverse() } }
      },
    }),
    endpoint({
      ...reads,
      path: '/admin/routers/report',
      operationId: 'reportRouters',
      summary: 'Compares the active version of a router with the newest one.',
      query: groupQuery,
      responses: { 200: { description: 'Both versions.', body: data(RouterReportSchema) } },
      handle: ({ query }) => ({ status: 200, body: { data: reportRouters(routers, toScope(query.group)) } }),
    }),
    endpoint({
      ...reads,
      path: '/admin/routers/diff',
      operationId: 'diffRouters',
      summary: 'Returns what differs between two versions.',
      query: diffQuery,
      responses: { 200: { description: 'Figures and models that differ.', body: data(RouterDiffSchema) } },
      errors: ['not_found'],
      handle({ query }) {
        const diff = diffRouters(requireRouter(routers, query.from), requireRouter(routers, query.to))
        return { status: 200, body: { data: diff } }
      },
    }),
    endpoint({
      ...reads,
      path: '/admin/routers/{version}',
      operationId: 'readRouter',
      summary: 'Returns a version of a learned router.',
      params: versionParam,
      notFound: routerNotFoundError,
      responses: { 200: { description: 'The version.', body: data(RouterSchema) } },
      handle({ params }) {
        const router = requireRouter(routers, params.version)
        return { status: 200, body: { data: showRouter(router, routers) } }
      },
    }),
  ]
}

/** Without a range, the last days are decided again. */
const DEFAULT_DAYS = 7

function createWhatIfEndpoint({ routers, trainer, replay }: RouterServices): Endpoint {
  return endpoint({
    ...common,
    method: 'POST',
    access: operator('auditor'),
    path: '/admin/routers/{version}/what-if',
    operationId: 'tryRouter',
    summary: 'Decides recorded requests again with a version. Changes nothing.',
    description:
      'Covers automatic choices whose features were kept. Every model that is chosen automatically is a ' +
      'candidate, with the latency of the catalogue.',
    params: versionParam,
    query: routerWhatIfQuery,
    body: NoFields,
    examples: { 'the range is in the query': {} },
    notFound: routerNotFoundError,
    responses: { 200: { description: 'What would change.', body: data(RouterWhatIfSchema) } },
    errors: ['conflict', 'ledger_unavailable'],
    async handle({ params, query, client }) {
      const router = requireRouter(routers, params.version)
      const models = await trainer.commands.readUsable(router)
      const until = toTime(query.until, 'until') ?? Date.now() + 1
      const since = toTime(query.since, 'since') ?? until - DEFAULT_DAYS * DAY_MS
      if (since > until) throw invalidParameterError('since', 'since must not be after until.')
      await trainer.settleLedger()
      const limit = query.limit ?? ROUTER_WHAT_IF_LIMIT.default
      const range = { since, until, limit }
      return { status: 200, body: { data: await replay(router, models, range, client.signal) } }
    },
  })
}

function toTime(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined
  const time = parseTime(text)
  if (time === undefined) throw invalidParameterError(name, `${name} must be an ISO 8601 time or a date.`)
  return Date.parse(time)
}

function createChangeEndpoints(services: RouterServices): readonly Endpoint[] {
  const { routers, commands, groups } = services

  function requireScope(groupId: number | undefined): RouterScope {
    if (groupId === undefined || groups.group(groupId) !== undefined) return toScope(groupId)
    throw new GatewayError('not_found', `Group ${groupId} was not found.`, { param: 'group_id' })
  }

  return [
    endpoint({
      ...changes,
      path: '/admin/routers/train',
      operationId: 'trainRouter',
      summary: 'Trains a new version from the ratings of the last days.',
      description: 'It is not activated, unless it is better and routing.activate says so.',
      body: GroupScope,
      examples: { everyone: {}, group: { group_id: 7 } },
      responses: { 201: { description: 'The new version.', body: data(RouterSchema) } },
      errors: [...WRITE_ERRORS, 'not_found', 'ledger_unavailable'],
      async handle({ body, author }) {
        const router = await trainVersion(requireScope(body?.group_id), author, services.trainer)
        return { status: 201, body: { data: showRouter(router, routers) } }
      },
    }),
    endpoint({
      ...changes,
      path: '/admin/routers/rollback',
      operationId: 'rollBackRouter',
      summary: 'Activates the version that was active before, or none if there was none.',
      body: GroupScope,
      examples: { everyone: {} },
      responses: { 200: { description: 'What is active now.', body: data(RolledBackSchema) } },
      errors: WRITE_ERRORS,
      async handle({ body, author }) {
        // The scope of a deleted group can be rolled back, too.
        const router = await commands.rollBack(toScope(body?.group_id), author)
        return { status: 200, body: { data: { version: router?.version ?? null } } }
      },
    }),
    endpoint({
      ...changes,
      path: '/admin/routers/{version}/activate',
      operationId: 'activateRouter',
      summary: 'Activates a version for its scope.',
      params: versionParam,
      body: NoFields,
      examples: { empty: {} },
      notFound: routerNotFoundError,
      responses: { 200: { description: 'The active version.', body: data(RouterSchema) } },
      errors: WRITE_ERRORS,
      async handle({ params, author }) {
        const router = await commands.activate(params.version, author)
        return { status: 200, body: { data: showRouter(router, routers) } }
      },
    }),
  ]
}

export function toScope(groupId: number | undefined): RouterScope {
  return groupId === undefined ? { everyone: true } : { groupId }
}
