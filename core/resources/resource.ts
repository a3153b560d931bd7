import {
  type Content,
  data,
  GatewayError,
  type JsonObject,
  type ResourceDeclaration,
  type ResourceEntity,
  type ResourceId,
  StrictObject,
  type TObject,
  type TProperties,
  type TSchema,
  Type,
} from '../contract/index.ts'
import { contentEtag, revisionEtag } from '../http/change-headers.ts'
import { dataWithWarnings, NextCursor, WarningSchema } from '../http/schemas.ts'
import { buildHistorySchema } from './changes.ts'
import { createEntityEvents, type EntityEvents } from './events.ts'
import { renameFields, showValue, toCamelCase } from './names.ts'

/** What follows from the declaration alone: the schemas, and how an entity looks in the API. */
export interface Resource<Entity extends ResourceEntity, Fields extends TProperties> {
  /** As a part of identifiers: `Group`, `ToolServer`. */
  readonly title: string
  /** With its article: `a group`. */
  readonly one: string
  readonly schemas: ResourceSchemas
  readonly events: EntityEvents<Entity>
  notFound(id: number | string): GatewayError
  /** `derived`: the fields that are not in the entity. */
  show(entity: Entity, derived?: JsonObject): JsonObject
  etag(entity: Entity, derived?: JsonObject): string
  /** Returns the values in a body, with the defaults of those that a new one lacks. */
  parse(body: JsonObject, isNew: boolean): Partial<Content<Fields>>
}

export interface ResourceSchemas {
  readonly id: TSchema
  readonly input: TSchema
  readonly change: TSchema
  readonly shown: TObject
  /** The entity in an answer, with warnings if there may be some. */
  readonly result: TSchema
  readonly page: TSchema
  readonly history: TSchema
}

/** Builds the schemas of a resource once; they are compiled on first use. */
export function buildResource<Entity extends ResourceEntity, Fields extends TProperties>(
  declaration: ResourceDeclaration<Entity, Fields>,
): Resource<Entity, Fields> {
  const { name, fields } = declaration
  const title = toIdentifier(name)
  const schemas = buildSchemas(declaration, declaration.title ?? title)
  const defaults = Object.entries(fields).flatMap(([name, schema]) =>
    schema.default === undefined ? [] : [[name, schema.default] as const],
  )

  const show = (entity: Entity, derived?: JsonObject) =>
    // The cast is safe: the schema is that of an object.
    showValue(derived ? { ...entity, ...derived } : entity, schemas.shown) as JsonObject

  return {
    title,
    one: withArticle(name),
    schemas,
    events: createEntityEvents(declaration),
    notFound: (id) => createNotFoundError(declaration, id),
    show,
    etag: (entity, derived) =>
      declaration.derive || entity.revision === undefined
        ? contentEtag(show(entity, derived))
        : revisionEtag(entity.revision),
    parse(body, isNew) {
      const given = isNew ? { ...Object.fromEntries(defaults), ...body } : body
      // The cast is safe: bodies match the schema, whose fields are renamed.
      return renameFields(given, toCamelCase) as Partial<Content<Fields>>
    },
  }
}

/** The 404 for an entity. `id` may also be a text in a path that is no id. */
export function createNotFoundError({ name }: { readonly name: string }, id: number | string): GatewayError {
  return new GatewayError('not_found', `${capitalize(name)} ${id} was not found.`)
}

/** A name of several words as a part of identifiers: `ToolServer`. */
export function toIdentifier(name: string): string {
  return name.split(' ').map(capitalize).join('')
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function buildSchemas<Entity extends ResourceEntity, Fields extends TProperties>(
  {
    name,
    plural,
    description,
    id,
    fields,
    onlyLater = [],
    onlyNew,
    shown,
    list,
    warn,
  }: ResourceDeclaration<Entity, Fields>,
  title: string,
): ResourceSchemas {
  const entries = Object.entries(fields)
  const { examples: _, minLength: __, ...idSchema } = id.schema
  const idShown = { ...idSchema, description: `Id of the ${name}${id.note}.` } as TSchema
  const entity = Type.Object(
    { id: idShown, ...Object.fromEntries(entries.map(toShown)), ...shown },
    { $id: title, description },
  )
  const input = entries.filter(([field]) => !onlyLater.includes(field)).map(toInput)
  return {
    id: buildIdSchema({ name, id }),
    input: StrictObject(
      { ...Object.fromEntries(input), ...onlyNew?.fields },
      { $id: `${title}Input`, description: `A new ${name}.` },
    ),
    change: StrictObject(Object.fromEntries(entries.map(toChange)), {
      $id: `${title}Change`,
      description: 'The fields to change.',
      minProperties: 1,
    }),
    shown: entity,
    result: warn ? dataWithWarnings(entity) : data(entity),
    page: Type.Object(
      {
        data: Type.Array(entity, { description: `The ${plural}, ${list.order}.` }),
        next_cursor: NextCursor,
        ...(list.more?.unavailable && {
          warnings: Type.Optional(Type.Array(WarningSchema, { description: 'What could not be read.' })),
        }),
      },
      { $id: `${title}Page`, description: `A page of ${plural}.` },
    ),
    history: buildHistorySchema(withArticle(name), title, entity),
  }
}

/** The schema of the id in a path. */
export function buildIdSchema<Id extends number | string>({
  name,
  id,
}: {
  readonly name: string
  readonly id: ResourceId<Id>
}) {
  return Type.Unsafe<Id>({ ...id.schema, description: `Id of ${withArticle(name)}.` })
}

function withArticle(name: string): string {
  return /^[aeio]/.test(name) ? `an ${name}` : `a ${name}`
}

function toShown([name, { default: _, ...schema }]: [string, TSchema]) {
  return [name, schema as TSchema] as const
}

function toChange([name, { default: _, ...schema }]: [string, TSchema]) {
  return [name, Type.Optional(schema as TSchema)] as const
}

/** Fields with a default may be missing. */
function toInput([name, schema]: [string, TSchema]) {
  return [name, schema.default === undefined ? schema : Type.Optional(schema)] as const
}
