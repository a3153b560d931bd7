import {
  data,
  type JsonObject,
  Nullable,
  type RecordedEvent,
  type ResourceEvent,
  StringEnum,
  type TSchema,
  Type,
} from '../contract/index.ts'
import { Count, Timestamp } from '../http/schemas.ts'
import type { EntityEvents } from './events.ts'

/** A change to an entity, or an event that changed nothing. */
export interface EntityChange<Entity> {
  readonly record: RecordedEvent
  readonly event: ResourceEvent
  readonly before: Entity | undefined
  readonly after: Entity | undefined
  readonly noEffect: string | undefined
}

export const ActorSchema = Type.Object(
  {
    type: StringEnum(['operator', 'key', 'identity', 'root', 'cli', 'system'], {
      description:
        'An operator, the key of a user, the token of an identity provider, the ADMIN_KEY, a command, or ' +
        'the gateway itself.',
    }),
    id: Type.String({
      description: 'Id of the operator or key, issuer#subject of the token; for all others, the type.',
    }),
    name: Type.String({ description: 'Name of the operator, or of the user of the key, at that time.' }),
    issuer: Type.Optional(Type.String({ description: 'Issuer of the token.' })),
  },
  { $id: 'Actor', description: 'Who made a change.' },
)

export const NoEffect = Type.Optional(
  Type.String({
    description: 'Why the event changed nothing: another node was faster. Missing if it had an effect.',
  }),
)

/** The fields of every event: when, who and why. */
export const eventFields = {
  position: Count('Log position of the event.'),
  time: Timestamp('When it happened.'),
  actor: ActorSchema,
  request_id: Nullable(Type.String(), { description: 'The request that caused it, if any.' }),
  reason: Type.Optional(Type.String({ description: 'Why the change was made. Missing if unknown.' })),
}

/** The fields of every change of an object. */
export function changeFields(object: TSchema) {
  return {
    ...eventFields,
    kind: Type.String({ description: 'Kind of the changed object.' }),
    id: Type.Union([Type.Integer({ format: 'int64' }), Type.String()], {
      description: 'Id of the changed object.',
    }),
    revision: Type.Integer({ description: 'Number of the change among those of the object, from 1.' }),
    event: Type.String({ description: 'Kind of the change, such as created, updated or deleted.' }),
    no_effect: NoEffect,
    before: Nullable(object, { description: 'The object before the change; null if it did not exist.' }),
    after: Nullable(object, { description: 'The object after the change; null if it was deleted.' }),
  }
}

/** The `eventFields` of an event. */
export function showRecord({ position, metadata }: RecordedEvent): JsonObject {
  return {
    position,
    time: metadata.time,
    actor: metadata.actor,
    request_id: metadata.requestId ?? null,
    ...(metadata.reason !== undefined && { reason: metadata.reason }),
  }
}

/** All changes of one entity. */
export function buildHistorySchema(one: string, title: string, entity: TSchema) {
  const change = Type.Object(changeFields(entity), {
    $id: `${title}HistoryEntry`,
    description: `A change of ${one}.`,
  })
  return data(Type.Array(change, { description: 'The changes, oldest first.' }))
}

/** The changes of one entity as the API shows them. */
export function showHistory<Entity>(
  changes: readonly EntityChange<Entity>[],
  { subjectOf }: Pick<EntityEvents<never>, 'subjectOf'>,
  show: (entity: Entity) => JsonObject,
): readonly JsonObject[] {
  return changes.map(({ event, before, after, ...change }, index) => {
    const { kind, idValue: id, change: name } = subjectOf(event) ?? {}
    return showChange({
      ...change,
      kind,
      id,
      revision: index + 1,
      event: name,
      before: before === undefined ? null : show(before),
      after: after === undefined ? null : show(after),
    })
  })
}

/** A change of an object, which is as the API shows it. */
interface ShownChange extends Pick<EntityChange<unknown>, 'record' | 'noEffect'> {
  readonly kind: string | undefined
  readonly id: unknown
  readonly revision: number
  readonly event: string | undefined
  readonly revertedTo?: number | undefined
  readonly before: JsonObject | null
  readonly after: JsonObject | null
}

/** An entry of a history or of the audit trail of a user. */
export function showChange(change: ShownChange): JsonObject {
  const { record, revertedTo, noEffect, before, after, ...subject } = change
  return {
    ...showRecord(record),
    ...subject,
    ...(revertedTo !== undefined && { reverted_to: revertedTo }),
    ...(noEffect !== undefined && { no_effect: noEffect }),
    before,
    after,
  }
}
