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
  stream(id: Entity['id']): string
  created(id: Entity['id'], content: JsonObject): ResourceEvent
  /** One event with all changes, or one for each. A field without a value is removed. */
  changed(id: Entity['id'], changes: JsonObject): readonly ResourceEvent[]
  deleted(entity: Entity): readonly ResourceEvent[]
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
  const idField = typeof streamName === 'function' ? streamName.idField : created?.auditSubject({})?.id
  if (streamName === undefined || idField === undefined)
    throw new TypeError(`the resource ${name} has no event ${events.created} with the field of its id`)
  const toEvent = (type: string, id: Entity['id'], data: JsonObject = {}) => ({
    type,
    data: { [idField]: id, ...data },
  })

  return {
    stream: (id) => (typeof streamName === 'string' ? streamName : streamName(id as never)),
    created: (id, content) => toEvent(events.created, id, content),
    changed(id, changes) {
      if (typeof changed === 'string') return [toEvent(changed, id, { changes })]
      return Object.entries(changed).flatMap(([field, type]) => {
        if (!Object.hasOwn(changes, field)) return []
        const value = changes[field]
        return [toEvent(type, id, value === undefined ? {} : { [field]: value })]
      })
    },
    deleted: (entity) => [...(events.beforeDeletion?.(entity) ?? []), toEvent(events.deleted, entity.id)],
    isAbout: (id, event) => fold.has(event) && event.data[idField] === id,
    subjectOf({ type, data }) {
      const subject = declarationOf(type)?.auditSubject(data)
      return subject && { ...subject, idValue: data[subject.id ?? idField] }
    },
    // The cast is safe: only events of the family are folded.
    fold: (before, event, entry) => fold(before, event as never, entry),
  }
}
