import type { Author, Position } from './event-log.ts'
import type { Warning } from './exchange.ts'
import type { EndpointDescription, OperatorRole, OperatorScope, ScopedAccess } from './http.ts'
import {
  type JsonObject,
  type MaybePromise,
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  Type,
} from './json.ts'

/**
 * Something that operators manage: a group, a policy, an operator. The endpoints, their schemas and errors,
 * the commands, the history and the conditional requests follow from its declaration. Names in the API are in
 * snake_case; events and code have the same names in camelCase.
 */
export interface ResourceDeclaration<
  Entity extends ResourceEntity = ResourceEntity,
  Fields extends TProperties = TProperties,
  // biome-ignore lint/suspicious/noExplicitAny: declarations of different resources have no common services
  Services = any,
> {
  /** Singular, in lower case: `group`, `tool server`. */
  readonly name: string
  readonly plural: string
  /** Name of its schema, by default the capitalized name. */
  readonly title?: string
  /** One sentence, for the schema. */
  readonly description: string
  readonly path: string
  /** What it is a part of, whose stream has its events: the user of a key. */
  readonly parent?: ResourceParent
  readonly tag: string
  readonly roles: { readonly read: OperatorRole; readonly write: OperatorRole }
  /** Without it, operators with a scope may not call the endpoints. */
  readonly scoped?: ResourceScoping<Entity, Fields, Services>
  readonly id: ResourceId<Entity['id']>
  /** What clients set. Fields that have a `default`, or are optional, may be missing in a new one. */
  readonly fields: Fields
  /** Fields that a new one cannot have yet. */
  readonly onlyLater?: readonly string[]
  /** What only the body of a new one has, and what it adds to the creation. */
  readonly onlyNew?: {
    readonly fields: TProperties
    /**
     * Returns a function that returns events which are written with the creation. Throws a `GatewayError` if
     * the fields are not valid.
     */
    prepare(
      given: JsonObject,
      scope: OperatorScope | undefined,
      services: Services,
    ): (id: Entity['id']) => readonly ResourceEvent[]
  }
  /** What clients only see, and fields that look different when they are shown. */
  readonly shown: TProperties
  readonly list: {
    /** A whole number of at most 16 digits, unique among all, by which lists are sorted. */
    rank(entity: Entity): number
    /** Completes "The groups, …". */
    readonly order: string
    /** Whether lists can be searched by name and id. */
    readonly isSearchable?: true
    /** Shown fields that take longer. */
    readonly more?: {
      /** The query parameter that asks for them. By default, they are always shown. */
      readonly parameter?: { readonly name: string; readonly description: string }
      /** Returns a function that returns them for an entity. */
      read(services: Services, parentId: number): MaybePromise<(entity: Entity) => JsonObject>
      /** Is shown in place of the fields if `read` rejects. By default, the request fails. */
      readonly unavailable?: Warning
    }
    /** Entries of a page, unless the client says. */
    readonly limit: number
  }
  /** What operators call its creation and its deletion, if it is another verb: it ends in `e`. */
  readonly verbs?: Partial<Record<'create' | 'delete', string>>
  /** Sentences that say more than the usual ones. */
  readonly summaries?: Partial<Record<'list' | 'create' | 'update' | 'delete', string>>
  readonly descriptions?: Partial<Record<'update' | 'delete', string>>
  /** Complete bodies by name. */
  readonly examples: Readonly<Partial<Record<'create' | 'update', Readonly<Record<string, JsonObject>>>>>
  readonly events: ResourceEvents<Entity>
  /** Shown fields that depend on more than the entity's own events. The ETag is then that of the content. */
  derive?(entity: Entity, services: Services): JsonObject
  /** Completes what a body says before it is compared and stored. */
  complete?(given: Changes<Fields>, before: Entity | undefined, services: Services): Changes<Fields>
  /**
   * Throws a `GatewayError` if the fields must not be set: what they refer to does not exist, or another one
   * has what is unique. `id`: undefined as long as a new one has none. Called again after a creation.
   */
  checkReferences?(given: Changes<Fields>, services: Services, id: Entity['id'] | undefined): void
  /** Throws a `GatewayError` if another process deleted what the entity refers to while it was changed. */
  checkAfterChange?(before: Entity, after: Entity, services: Services): void
  /** Throws a `GatewayError` if it must not be deleted: something refers to it. */
  checkUnused?(entity: Entity, services: Services): void
  /** What clients should know about a change that was made. */
  warn?(before: Entity, after: Entity, services: Services): readonly Warning[]
}

/** What operators with a scope get of a resource. */
export interface ResourceScoping<Entity extends ResourceEntity, Fields extends TProperties, Services> {
  readonly read: ScopedAccess
  readonly write: ScopedAccess
  /** Whether an entity belongs to the groups of a scope. `parentId`: of what it is a part of. */
  includes(entity: Entity, scope: OperatorScope, parentId: number): boolean
  /** Whether the parts of a parent do. */
  includesParent?(parentId: number, scope: OperatorScope): boolean
  /** Whether an entry of the history may be seen. */
  includesEvent?(event: ResourceEvent, scope: OperatorScope): boolean
  /** Leaves out of a shown entity what does not belong to the groups. */
  narrow?(shown: JsonObject, scope: OperatorScope): JsonObject
  /** Throws a `GatewayError` if such an operator must not set these fields. */
  checkChange?(
    given: Changes<Fields>,
    scope: OperatorScope,
    before: Entity | undefined,
    services: Services,
  ): void
}

export type ResourceAction = NonNullable<EndpointDescription['resource']>['action']

export interface ResourceEntity {
  readonly id: number | string
  /** Number of its changes, from 1. The ETag of what does not count them is that of the content. */
  readonly revision?: number
}

/** What the entities of another resource are parts of. */
export interface ResourceParent {
  readonly name: string
  readonly id: ResourceId<number>
  /** Where its parts are listed and created: `/admin/users/{id}/keys`. */
  readonly path: string
}

/** An event before it is written. */
export interface ResourceEvent {
  readonly type: string
  readonly data: JsonObject
}

/** Where an event is in the log, and when it was written. */
export interface ResourceEventEntry {
  readonly stream: string
  readonly revision: number
  readonly position: Position
  readonly metadata: { readonly time: string }
}

/** How changes become events, and events become the entity. */
export interface ResourceEvents<Entity extends ResourceEntity = ResourceEntity> {
  /** The declarations of its events: of these three, and of others that change the entity. */
  readonly family: readonly ResourceEventDeclaration[]
  readonly created: string
  /** One event with all changes, or one for each changed field. Without it, fields cannot be changed. */
  readonly changed?: string | Readonly<Record<string, string>>
  /** If the stream is damaged, it is written to the second stream of its declaration. */
  readonly deleted: string
  /** Whether an entity that can still be read is deleted: a key is revoked. */
  isDeleted?(entity: Entity): boolean
  /** Events that are written before the deletion. */
  beforeDeletion?(entity: Entity): readonly ResourceEvent[]
  readonly fold: ResourceFold<Entity>
}

/** What is needed of the declaration of an event: see `defineEvent`. */
interface ResourceEventDeclaration {
  readonly type: string
  /** The first one is that of the resource: one stream per entity, or one for all. */
  readonly streams: readonly (string | (((id: never) => string) & { readonly idField: string }))[]
  auditSubject(data: JsonObject): ResourceSubject | undefined
}

/** What an event has changed: the entity itself, or a part of it, such as a key. */
export interface ResourceSubject {
  readonly kind: string
  /** Such as `created` or `budget_set`. */
  readonly change: string
  /** The field of the data with the id. */
  readonly id?: string
}

/** Returns the entity after one of its events; undefined if it does not exist then. */
export interface ResourceFold<Entity> {
  (before: Entity | undefined, event: never, entry: ResourceEventEntry): Entity | undefined
  /** Whether the event is one of the resource: its streams may hold others. */
  has(event: ResourceEvent): boolean
}

/** The ids of one kind of things. */
export interface ResourceId<Id extends number | string> {
  /** Completes the description of the ids. */
  readonly note: string
  /** The schema in paths, without its description. */
  readonly schema: TSchema
  create(ids: { reserve(count: number, author: Author): Promise<number> }, author: Author): Promise<Id>
}

/** Numbers of the sequence that users, rules, groups and policies share. */
export function serialId(example: number): ResourceId<number> {
  return {
    note: '',
    schema: Type.Integer({ minimum: 1, format: 'int64', examples: [example] }),
    create: (ids, author) => ids.reserve(1, author),
  }
}

/** Texts that nobody can guess. */
export function randomId(create: () => string, example: string): ResourceId<string> {
  return {
    note: ', which is not secret',
    schema: Type.String({ minLength: 1, examples: [example] }),
    create: async () => create(),
  }
}

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name

type Camelized<Value> = Value extends readonly (infer Item)[]
  ? readonly Camelized<Item>[]
  : Value extends object
    ? {
        readonly [Name in keyof Value as Name extends string ? CamelCase<Name> : Name]: Camelized<Value[Name]>
      }
    : Value

/** The values of fields as code and events have them. */
export type Content<Fields extends TProperties> = Camelized<Static<TObject<Fields>>>

/** Some of the fields. One that is undefined is removed. */
export type Changes<Fields extends TProperties> = {
  readonly [Name in keyof Content<Fields>]?: Content<Fields>[Name] | undefined
}

/** Declares something that operators manage. */
export function defineResource<Entity extends ResourceEntity, Fields extends TProperties, Services>(
  declaration: ResourceDeclaration<Entity, Fields, Services>,
): ResourceDeclaration<Entity, Fields, Services> {
  return declaration
}
