import {
  type Content,
  type Endpoint,
  type EndpointResponse,
  endpoint,
  type JsonObject,
  operator,
  type ResourceAction,
  type ResourceDeclaration,
  type ResourceEntity,
  type TProperties,
  Type,
} from '../contract/index.ts'
import {
  etagHeader,
  ifNoneMatchHeader,
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
import { buildIdSchema, buildResource, capitalize, createNotFoundError, type Resource } from './resource.ts'

/** Errors of endpoints that append to the event log. */
export const WRITE_ERRORS = ['conflict', 'change_too_large', 'event_log_full'] as const

export const asOfQuery = { as_of: Type.Optional(LogPoint('Returns it as of a point in the log')) }

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
  state: Pick<ResourceState<Entity>, 'list'>,
  commands: ResourceCommands<Entity, Content<Fields>>,
  services: Services,
): ResourceEndpoints {
  const { name, plural, path, parent, roles, list, descriptions = {}, examples, warn } = declaration
  const { verbs = {}, summaries = {} } = declaration
  const { create = 'create', delete: remove = 'delete' } = verbs
  const common = (action: ResourceAction) => ({
    path: action === 'list' || action === 'create' ? (parent?.path ?? path) : `${path}/{id}`,
    access: operator(
      action === 'list' || action === 'read' || action === 'history' ? roles.read : roles.write,
    ),
    tags: [declaration.tag],
    resource: { name, action },
  })
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
  const showNow = (entity: Entity) => show(entity, commands.derive(entity))

  /** `derived`: missing for an entity as it was. */
  function respond(
    status: number,
    entity: Entity,
    derived?: JsonObject,
    more?: JsonObject,
  ): EndpointResponse {
    return {
      status,
      headers: { etag: etag(entity, derived) },
      body: { data: show(entity, derived), ...more },
    }
  }

  const respondNow = (status: number, entity: Entity, more?: JsonObject) =>
    respond(status, entity, commands.derive(entity), more)

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
      operationId: `list${capitalize(plural)}`,
      summary: summaries.list ?? `Lists all ${plural}, in pages, ${list.order}.`,
      query: { ...pageQuery({ ...PAGE, default: list.limit }, 'YWZ0ZXI6Nw'), ...searchQuery, ...moreQuery },
      responses: { 200: { description: `A page of ${plural}.`, body: schemas.page } },
      async handle({ params, query }) {
        const parentId = idOf({ params })
        // The cast is safe: what can be searched has a name, and a number as its id.
        const found = findNamed(state.list(parentId) as readonly (Entity & Named)[], query)
        const { read, warnings } = await readMore(query, parentId)
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
        async handle({ params, body, author }) {
          const content = parse(body as JsonObject, true) as Content<Fields>
          return respondNow(201, await commands.create(content, author, {}, parent && idOf({ params })))
        },
      }),
      async (_, change) => respond(201, await commands.created(change)),
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
        const { as_of: asOf } = call.query
        if (asOf === undefined) return respondNow(200, commands.require(id))
        const entity = (await commands.history(id, parseAsOf(asOf, 'as_of'))).at(-1)?.after
        if (entity === undefined) throw notFound(id)
        return respond(200, entity)
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
        const expected = parsePrecondition(call.headers)
        const { before, after } = await commands.change(
          idOf(call),
          parse(call.body as JsonObject, false),
          expected,
          call.author,
        )
        const warnings = warn?.(before, after, services) ?? []
        return respondNow(200, after, warnings.length > 0 ? { warnings } : {})
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
        await commands.delete(idOf(call), parsePrecondition(call.headers), call.author)
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
        const changes = await commands.history(id)
        if (changes.length === 0) throw notFound(id)
        return {
          status: 200,
          body: { data: showHistory(changes, events, show) },
        }
      },
    }),
  }
  return declaration.events.changed === undefined ? others : { ...others, update }
}
