import type {
  JsonObject,
  ResourceDeclaration,
  ResourceEntity,
  ResourceEvent,
  ResourceEventEntry,
  ResourceSubject,
} from '../contract/index.ts'

/** The events of a resource, as its commands and its history need them. */
export interface EntityEvents<Entity extends ResourceEntity> {
  /** The stream of an entity, or of what it is a part of. */
  stream(id: number | string): string
  /** Takes the deletion of an entity whose stream is damaged. */
  readonly fallbackStream: string | undefined
  /** `parentId`: the id of what the entity is a part of. */
  created(id: Entity['id'], content: JsonObject, parentId?: number): ResourceEvent
  /** One event with all changes, or one for each. A field without a value is removed. */
  changed(id: Entity['id'], changes: JsonObject): readonly ResourceEvent[]
  /** None for what is deleted already. */
  deleted(entity: Entity, parentId?: number): readonly ResourceEvent[]
  /** Whether an event is about this entity: streams may hold others. */
  isAbout(id: Entity['id'], event: ResourceEvent): boolean
  /** What an event has changed; undefined if the history does not show it. */
  subjectOf(event: ResourceEvent): (ResourceSubject & { readonly idValue: unknown }) | undefined
  fold(before: Entity | undefined, event: ResourceEvent, entry: ResourceEventEntry): Entity | undefined
}

export function createEntityEvents<Entity extends ResourceEntity>({
  name,
  events,
}: Pick<ResourceDeclaration<Entity>, 'name' | 'events'>): EntityEvents<Entity> {
  const { family, changed, fold } = events
  const declarationOf = (type: string) => family.find((declaration) => declaration.type === type)
  const created = declarationOf(events.created)
  const [streamName] = created?.streams ?? []
  const idField = created?.auditSubject({})?.id
  const streamField = typeof streamName === 'function' ? streamName.idField : undefined
  if (streamName === undefined || idField === undefined)
    throw new TypeError(`the resource ${name} has no event ${events.created} with the field of its id`)
  const toEvent = (type: string, id: Entity['id'], data: JsonObject = {}, parentId?: number) => ({
    type,
    data: { ...(streamField && parentId && { [streamField]: parentId }), [idField]: id, ...data },
  })
  const fallback = declarationOf(events.deleted)?.streams[1]

  return {
    fallbackStream: typeof fallback === 'string' ? fallback : undefined,
    stream: (id) => (typeof streamName === 'string' ? streamName : streamName(id as never)),
    created: (id, content, parentId) => toEvent(events.created, id, content, parentId),
    changed(id, changes) {
      if (changed === undefined) throw new TypeError(`a ${name} cannot be changed`)
      if (typeof changed === 'string') return [toEvent(changed, id, { changes })]
      return Object.entries(changed).flatMap(([field, type]) => {
        if (!Object.hasOwn(changes, field)) return []
        const value = changes[field]
        return [toEvent(type, id, value === undefined ? {} : { [field]: value })]
      })
    },
    deleted: (entity, parentId) =>
      events.isDeleted?.(entity)
        ? []
        : [...(events.beforeDeletion?.(entity) ?? []), toEvent(events.deleted, entity.id, {}, parentId)],
    isAbout: (id, event) => fold.has(event) && event.data[idField] === id,
    subjectOf({ type, data }) {
      const subject = declarationOf(type)?.auditSubject(data)
      return subject && { ...subject, idValue: data[subject.id ?? idField] }
    },
    // The cast is safe: only events of the family are folded.
    fold: (before, event, entry) => fold(before, event as never, entry),
  }
}
