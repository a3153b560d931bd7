import {
  type JsonObject,
  type Position,
  type RecordedEvent,
  type Static,
  type TSchema,
  Type,
} from '../contract/index.ts'
import { createLazyTypeGuard } from '../util/json-schema.ts'
import { SCHEMA_VERSION } from './codec.ts'

/*
 * Each event is declared once, in the list of its family:
 *
 *   export const groupStream = streamCategory('group-', 'groupId')
 *
 *   export const groupEvents = [
 *     defineEvent({
 *       type: 'GroupCreated',
 *       schema: Type.Object({ groupId: Id, name: Type.String() }),
 *       stream: groupStream,
 *       audit: { kind: 'group', change: 'created', id: 'groupId' },
 *       assigns: ({ groupId }) => groupId,
 *       create: ({ groupId: id, name }): Group => ({ id, name }),
 *     }),
 *     defineEvent({
 *       type: 'GroupRenamed',
 *       …
 *       fold: (group: Group, { name }) => ({ ...group, name }),
 *     }),
 *   ] as const
 *
 *   export type GroupEvent = EventOf<typeof groupEvents>
 *   export const foldGroup = createFold<GroupEvent, Group>(groupEvents)
 *
 * `projections/events/registry.ts` lists the families. Everything else that depends on the type of an event
 * asks the registry for its declaration: decoding, validation, the audit trail and the verification of a log.
 */

/** An event as projections receive it, and as it is given to the log. */
export interface DeclaredEvent<Type extends string = string, Data extends JsonObject = JsonObject> {
  readonly type: Type
  readonly data: Data
}

/** What a state may depend on, besides the data of an event. */
export interface EventEntry {
  readonly stream?: string
  readonly revision: number
  readonly position: Position
  readonly metadata: Pick<RecordedEvent['metadata'], 'time'> &
    Partial<Pick<RecordedEvent['metadata'], 'actor'>>
}

/** Streams of the same kind, one per id: `streamCategory('user-', 'userId')(7)` is `user-7`. */
export interface StreamCategory<Field extends string = string> {
  (id: number | string): string
  readonly prefix: `${string}-`
  /** The field of an event's data that has the id. */
  readonly idField: Field
}

export function streamCategory<const Field extends string>(
  prefix: `${string}-`,
  idField: Field,
): StreamCategory<Field> {
  return Object.assign((id: number | string) => prefix + id, { prefix, idField })
}

/** A stream by its name, or a category, in which the stream is named by the data. */
type StreamName = string | StreamCategory

/** How the audit trail shows an event: the object that was changed, and how. */
export interface AuditSubject<Field extends string = string> {
  readonly kind: string
  readonly change: string
  /** The field with the id of the object. */
  readonly id?: Field
}

interface EventOptions<Type extends string, Schema extends TSchema, State> {
  readonly type: Type
  /** Fields that it does not name are allowed: newer versions may add them. */
  readonly schema: Schema
  /** A list: all streams that may hold the event. It is written to the first one whose id the data has. */
  readonly stream: StreamName | readonly StreamName[]
  /** Null: the audit trail does not show the event. */
  readonly audit: Audit<Static<Schema>> | null
  /** Returns the id that the event gives to a new object, from the sequence that all kinds share. */
  assigns?(data: Static<Schema>): number | undefined
  /** Whether a full disk must not prevent the event, because it revokes something. */
  readonly isUrgent?: boolean
  /** Returns the state that the event begins, whether there was one or not. */
  create?(data: Static<Schema>, record: EventEntry): State
  /** Returns the state after the event, undefined if it ends it. Not called if there is no state. */
  fold?(state: State, data: Static<Schema>, record: EventEntry): NoInfer<State> | undefined
}

type Audit<Data> = AuditSubject<FieldOf<Data>> | ((data: Data) => AuditSubject<FieldOf<Data>>)

type FieldOf<Data> = Data extends unknown ? keyof Data & string : never

/** One event: its type, the form of its data, its stream, how it is folded, and how it is audited. */
// biome-ignore lint/suspicious/noExplicitAny: declarations of different events have no common data and state
export interface EventDeclaration<Type extends string = string, Data = any, State = any> {
  readonly type: Type
  readonly schema: TSchema
  readonly streams: readonly StreamName[]
  readonly isUrgent: boolean
  assigns(data: Data): number | undefined
  auditSubject(data: Data): AuditSubject | undefined
  fold(state: State | undefined, data: Data, record: EventEntry): State | undefined
  /** Whether the data has the declared form. The schema is compiled on first use. */
  hasValidData(data: unknown): data is Data
  /** The stream that an event with this data is written to. */
  streamOf(data: JsonObject): string
  /** Whether a stream may hold an event with this data. */
  belongsTo(stream: string, data: JsonObject): boolean
}

/** The events of a list of declarations, discriminated by `type`. */
export type EventOf<Declarations extends readonly EventDeclaration[]> = {
  [Index in keyof Declarations]: Declarations[Index] extends EventDeclaration<
    infer Type,
    infer Data extends JsonObject
  >
    ? DeclaredEvent<Type, Data>
    : never
}[number]

export function defineEvent<const Type extends string, Schema extends TSchema, State = never>(
  options: EventOptions<Type, Schema, State>,
): EventDeclaration<Type, Static<Schema>, State> {
  const { type, schema, audit, assigns, create, fold, isUrgent = false } = options
  const streams = [options.stream].flat() as readonly StreamName[]
  return {
    type,
    schema,
    streams,
    isUrgent,
    assigns: (data) => assigns?.(data),
    auditSubject: (data) => (typeof audit === 'function' ? audit(data) : (audit ?? undefined)),
    fold(state, data, record) {
      if (create !== undefined) return create(data, record)
      return state === undefined ? undefined : fold?.(state, data, record)
    },
    hasValidData: createLazyTypeGuard(schema),
    streamOf: (data) =>
      streams.map((name) => streamNamed(name, data)).find((stream) => stream !== undefined) ?? '',
    belongsTo: (stream, data) => streams.some((name) => streamNamed(name, data) === stream),
  }
}

function nameOf(stream: StreamName): string {
  return typeof stream === 'string' ? stream : stream.prefix
}

/** Undefined for a category if the data has no id of it. */
function streamNamed(name: StreamName, data: JsonObject): string | undefined {
  if (typeof name === 'string') return name
  const id = data[name.idField]
  return id === undefined ? undefined : name.prefix + id
}

/** Folds the events of a family. */
export interface Fold<Event extends DeclaredEvent, State> {
  (state: State | undefined, event: Event, record: EventEntry): State | undefined
  /** Whether the event is one of the family. */
  has(event: DeclaredEvent): event is Event
}

export function createFold<Event extends DeclaredEvent, State>(
  // biome-ignore lint/suspicious/noExplicitAny: declarations of different events have no common data
  declarations: readonly EventDeclaration<string, any, State>[],
): Fold<Event, State> {
  const byType = new Map(declarations.map((declaration) => [declaration.type, declaration]))
  const fold = (state: State | undefined, { type, data }: Event, record: EventEntry) =>
    byType.get(type)?.fold(state, data, record)
  return Object.assign(fold, { has: (event: DeclaredEvent): event is Event => byType.has(event.type) })
}

/** The declarations of all events that this version knows. */
export interface EventRegistry<Event extends DeclaredEvent> {
  /** Ascending. */
  readonly types: readonly string[]
  /** Types of events that a full disk must not prevent. */
  readonly urgentTypes: readonly string[]
  /** The names of all streams; one that ends in `-` is a category. */
  readonly streams: readonly string[]
  find(type: string): EventDeclaration | undefined
  /** Throws for an event that is not declared. */
  declarationOf(event: Event): EventDeclaration
  /** Returns undefined for a type or schema version that only a newer version of Signalbox knows. */
  decode(record: RecordedEvent): Event | undefined
  /**
   * Whether a decoded event has data of the declared form, and is in its stream. Other programs can write
   * events with our types; applying them could end the process.
   */
  isWellFormed(event: Event, record: Pick<RecordedEvent, 'stream'>): boolean
}

/** Throws if two events have the same type. */
export function createEventRegistry<const Declarations extends readonly EventDeclaration[]>(
  declarations: Declarations,
): EventRegistry<EventOf<Declarations>> {
  const byType = new Map<string, EventDeclaration>()
  for (const declaration of declarations) {
    if (byType.has(declaration.type)) throw new Error(`event ${declaration.type} is declared twice`)
    byType.set(declaration.type, declaration)
  }
  return {
    types: [...byType.keys()].sort(),
    urgentTypes: declarations.filter(({ isUrgent }) => isUrgent).map(({ type }) => type),
    streams: [...new Set(declarations.flatMap(({ streams }) => streams.map(nameOf)))],
    find: (type) => byType.get(type),
    declarationOf({ type }) {
      const declaration = byType.get(type)
      if (declaration === undefined) throw new Error(`event ${type} is not declared`)
      return declaration
    },
    decode({ type, data, metadata }) {
      const declaration = metadata.schema > SCHEMA_VERSION ? undefined : byType.get(type)
      // Safe: `isWellFormed` tells whether the data is of this type.
      return declaration && ({ type: declaration.type, data } as EventOf<Declarations>)
    },
    isWellFormed({ type, data }, { stream }) {
      const declaration = byType.get(type)
      return declaration?.hasValidData(data) === true && declaration.belongsTo(stream, data)
    },
  }
}

/** An id of the sequence that users, rules, groups and policies share. */
export const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

/** ISO 8601, UTC. Every text of this form can be parsed. */
export const Time = Type.String({
  pattern: '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d+)?Z$',
})

export const Texts = Type.Unsafe<readonly string[]>(Type.Array(Type.String()))
