import {
  type Content,
  type Endpoint,
  type EndpointCall,
  type EndpointResponse,
  endpoint,
  type JsonObject,
  type OperatorScope,
  operator,
  type ResourceAction,
  type ResourceDeclaration,
  type ResourceEntity,
  type TProperties,
  Type,
} from '../contract/index.ts'
import {
  anyRevision,
  contentEtag,
  etagHeader,
  ifNoneMatchHeader,
  type Precondition,
  parsePrecondition,
  preconditionHeaders,
  repeatable,
} from '../http/change-headers.ts'
import { cutPage, findNamed, idFilter, type Named, nameFilter, PAGE } from '../http/pages.ts'
import { LogPoint, pageQuery, Success } from '../http/schemas.ts'
import { parseAsOf } from '../util/as-of.ts'
import { showHistory } from './changes.ts'
import {
  createResourceCommands,
  type ResourceCommands,
  type ResourceServices,
  type ResourceState,
} from './commands.ts'
import {
  buildIdSchema,
  buildResource,
  capitalize,
  createNotFoundError,
  type Resource,
  toIdentifier,
} from './resource.ts'
import { createScoping } from './scoping.ts'

/** Errors of endpoints that append to the event log. */
export const WRITE_ERRORS = ['conflict', 'change_too_large', 'event_log_full'] as const

export const asOfQuery = { as_of: Type.Optional(LogPoint('Returns it as of a point in the log')) }

type ScopedCall = Pick<EndpointCall, 'scope'>

type ResourceEndpoints = Readonly<Record<Exclude<ResourceAction, 'update'>, Endpoint>> & {
  readonly update?: Endpoint
}

/** Everything that follows from a declaration: the commands, and the endpoints, each by what it does. */
export function manageResource<Entity extends ResourceEntity, Fields extends TProperties, Services>(
  declaration: ResourceDeclaration<Entity, Fields, Services>,
  state: ResourceState<Entity>,
  services: ResourceServices & Services,
) {
  const resource = buildResource(declaration)
  const commands = createResourceCommands(declaration, resource, state, services)
  return {
    ...resource,
    commands,
    endpoints: createEndpoints(declaration, resource, state, commands, services),
  }
}

function createEndpoints<Entity extends ResourceEntity, Fields extends TProperties, Services>(
  declaration: ResourceDeclaration<Entity, Fields, Services>,
  { title, one, schemas, events, notFound, show, etag, parse }: Resource<Entity, Fields>,
  state: Pick<ResourceState<Entity>, 'find' | 'list' | 'parentOf'>,
  commands: ResourceCommands<Entity, Content<Fields>>,
  services: Services,
): ResourceEndpoints {
  const { name, plural, path, parent, roles, scoped, list, descriptions = {}, examples, warn } = declaration
  const { verbs = {}, summaries = {} } = declaration
  const { create = 'create', delete: remove = 'delete' } = verbs
  const common = (action: ResourceAction) => {
    const kind = action === 'list' || action === 'read' || action === 'history' ? 'read' : 'write'
    return {
      path: action === 'list' || action === 'create' ? (parent?.path ?? path) : `${path}/{id}`,
      access: operator(roles[kind], scoped?.[kind]),
      tags: [declaration.tag],
      resource: { name, action },
    }
  }
  const existing = { params: { id: schemas.id }, notFound }
  const siblings = parent && {
    params: { id: buildIdSchema(parent) },
    notFound: (id: number | string) => createNotFoundError(parent, id),
  }
  const shown = { headers: etagHeader(name), body: schemas.result }
  // The ETag of a content cannot be known before.
  const conditions = preconditionHeaders(name, declaration.derive || parent ? '*' : undefined)
  const { more } = list
  const searchQuery = list.isSearchable ? { q: nameFilter, id: idFilter } : {}
  const moreQuery = more?.parameter && {
    [more.parameter.name]: Type.Optional(Type.Boolean({ description: more.parameter.description })),
  }
  const scoping = scoped && createScoping(declaration, scoped, state)

  /** `derived`: missing for an entity as it was. */
  function respond(
    status: number,
    { scope }: ScopedCall,
    entity: Entity,
    derived?: JsonObject,
    more?: JsonObject,
  ): EndpointResponse {
    return {
      status,
      headers: { etag: etagFor(scope, entity, derived) },
      body: { data: showFor(scope, entity, derived), ...more },
    }
  }

  function showFor(scope: OperatorScope | undefined, entity: Entity, derived?: JsonObject): JsonObject {
    const shown = show(entity, derived)
    return scope && scoped?.narrow ? scoped.narrow(shown, scope) : shown
  }

  /** What is left out must not show in the ETag, which is a hash. */
  function etagFor(scope: OperatorScope | undefined, entity: Entity, derived?: JsonObject): string {
    const isNarrowed = scope && scoped?.narrow
    return isNarrowed ? contentEtag(showFor(scope, entity, derived)) : etag(entity, derived)
  }

  const respondNow = (status: number, call: ScopedCall, entity: Entity, more?: JsonObject) =>
    respond(status, call, entity, commands.derive(entity), more)

  /** The conditions of a change. Those of an operator with a scope name the ETag of what is shown. */
  function toPrecondition(call: ScopedCall & Pick<EndpointCall, 'headers'>, id: Entity['id']): Precondition {
    const expected = parsePrecondition(call.headers)
    if (call.scope === undefined || expected === anyRevision) return expected
    const entity = commands.require(id)
    expected(etagFor(call.scope, entity, commands.derive(entity)), name)
    return parsePrecondition({ 'if-match': etag(entity, commands.derive(entity)) })
  }

  /** The fields of a body, and those that only a new one has. */
  function splitBody(body: JsonObject): readonly [JsonObject, JsonObject] {
    const { fields } = declaration.onlyNew ?? {}
    if (fields === undefined) return [body, {}]
    const isOnlyNew = ([field]: readonly [string, unknown]) => Object.hasOwn(fields, field)
    const entries = Object.entries(body)
    return [
      Object.fromEntries(entries.filter((entry) => !isOnlyNew(entry))),
      Object.fromEntries(entries.filter(isOnlyNew)),
    ]
  }

  // The casts of ids and bodies are safe: they match the schemas of the declaration.
  const idOf = ({ params }: { readonly params: object }) => (params as { id: Entity['id'] & number }).id

  /** Shows what cannot be read as a warning, if there is one. */
  async function readMore(query: object, parentId: number) {
    const isWanted = more?.parameter === undefined || (query as JsonObject)[more.parameter.name] === true
    if (more === undefined || !isWanted) return {}
    try {
      return { read: await more.read(services, parentId) }
    } catch (error) {
      if (more.unavailable === undefined) throw error
      return { warnings: [more.unavailable] }
    }
  }

  const { update, ...others } = {
    list: endpoint({
      ...common('list'),
      ...siblings,
      method: 'GET',
      operationId: `list${toIdentifier(plural)}`,
      summary: summaries.list ?? `Lists all ${plural}, in pages, ${list.order}.`,
      query: { ...pageQuery({ ...PAGE, default: list.limit }, 'YWZ0ZXI6Nw'), ...searchQuery, ...moreQuery },
      responses: { 200: { description: `A page of ${plural}.`, body: schemas.page } },
      async handle({ params, query, scope }) {
        const parentId = idOf({ params })
        if (scope) scoping?.requireParent(scope, parentId)
        const all = scope ? (scoping?.filter(scope, state.list(parentId)) ?? []) : state.list(parentId)
        // The cast is safe: what can be searched has a name, and a number as its id.
        const found = findNamed(all as readonly (Entity & Named)[], query)
        const { read, warnings } = await readMore(query, parentId)
        const showNow = (entity: Entity) => showFor(scope, entity, commands.derive(entity))
        const showInList = (entity: Entity) => ({ ...showNow(entity), ...read?.(entity) })
        const { page, next_cursor } = cutPage(found, { limit: list.limit, ...query }, list.rank)
        const data = page.map(read ? showInList : showNow)
        return { status: 200, body: { data, next_cursor, ...(warnings && { warnings }) } }
      },
    }),
    create: repeatable(
      endpoint({
        ...common('create'),
        ...siblings,
        method: 'POST',
        operationId: create + title,
        summary: summaries.create ?? `${capitalize(create)}s ${one}.`,
        body: schemas.input,
        ...(examples.create && { examples: examples.create }),
        responses: { 201: { description: `The new ${name}.`, ...shown } },
        errors: WRITE_ERRORS,
        async handle(call) {
          const { params, author, scope } = call
          const [body, onlyNew] = splitBody(call.body as JsonObject)
          const content = parse(body, true) as Content<Fields>
          if (scope) {
            scoping?.requireParent(scope, idOf({ params }))
            scoped?.checkChange?.(content, scope, undefined, services)
          }
          const further = declaration.onlyNew?.prepare(onlyNew, scope, services)
          const parentId = parent && idOf({ params })
          return respondNow(201, call, await commands.create(content, author, {}, parentId, further))
        },
      }),
      async (call, change) => {
        const entity = await commands.created(change)
        // The scope may have changed since.
        if (call.scope && !scoping?.includes(call.scope, entity)) throw notFound(entity.id)
        return respond(201, call, entity)
      },
    ),
    read: endpoint({
      ...common('read'),
      ...existing,
      method: 'GET',
      operationId: `read${title}`,
      summary: `Returns ${one}.`,
      query: asOfQuery,
      headers: ifNoneMatchHeader,
      responses: { 200: { description: `The ${name}.`, ...shown } },
      async handle(call) {
        const id = idOf(call)
        const { query, scope } = call
        const { as_of: asOf } = query
        if (scope) scoping?.require(scope, id)
        if (asOf === undefined) return respondNow(200, call, commands.require(id))
        const entity = (await commands.history(id, parseAsOf(asOf, 'as_of'))).at(-1)?.after
        if (entity === undefined || (scope && !scoping?.includes(scope, entity))) throw notFound(id)
        return respond(200, call, entity)
      },
    }),
    update: endpoint({
      ...common('update'),
      ...existing,
      method: 'PATCH',
      operationId: `update${title}`,
      summary: summaries.update ?? `Updates the given fields of ${one}.`,
      ...(descriptions.update && { description: descriptions.update }),
      headers: conditions,
      body: schemas.change,
      ...(examples.update && { examples: examples.update }),
      responses: { 200: { description: `The ${name} after the change.`, ...shown } },
      errors: [...WRITE_ERRORS, 'revision_mismatch'],
      async handle(call) {
        const { author, scope } = call
        const id = idOf(call)
        const given = parse(call.body as JsonObject, false)
        if (scope) scoped?.checkChange?.(given, scope, scoping?.require(scope, id), services)
        const { before, after } = await commands.change(id, given, toPrecondition(call, id), author)
        const warnings = warn?.(before, after, services) ?? []
        return respondNow(200, call, after, warnings.length > 0 ? { warnings } : {})
      },
    }),
    delete: endpoint({
      ...common('delete'),
      ...existing,
      method: 'DELETE',
      operationId: remove + title,
      summary: summaries.delete ?? `${capitalize(remove)}s ${one}.`,
      ...(descriptions.delete && { description: descriptions.delete }),
      headers: conditions,
      responses: { 200: { description: `The ${name} is ${remove}d.`, body: Success } },
      errors: [...WRITE_ERRORS, 'revision_mismatch'],
      async handle(call) {
        const id = idOf(call)
        if (call.scope) scoping?.require(call.scope, id)
        await commands.delete(id, toPrecondition(call, id), call.author)
        return { status: 200, body: { success: true } }
      },
    }),
    history: endpoint({
      ...common('history'),
      ...existing,
      path: `${path}/{id}/history`,
      method: 'GET',
      operationId: `read${title}History`,
      summary: `Lists the changes of ${one}, oldest first.`,
      description: `Works for ${remove}d ${plural}, too.`,
      responses: { 200: { description: 'All changes.', body: schemas.history } },
      async handle(call) {
        const id = idOf(call)
        const { scope } = call
        if (scope) scoping?.require(scope, id)
        const changes = await commands.history(id)
        if (changes.length === 0) throw notFound(id)
        const shown = showHistory(changes, events, (entity) => showFor(scope, entity))
        const isShown = (_: unknown, index: number) => {
          const change = changes[index]
          return scope === undefined || (change !== undefined && scoping?.includesChange(scope, change))
        }
        return { status: 200, body: { data: shown.filter(isShown) } }
      },
    }),
  }
  return declaration.events.changed === undefined ? others : { ...others, update }
}
