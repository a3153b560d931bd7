import { isDeepStrictEqual } from 'node:util'
import {
  type Appended,
  type Author,
  type Changes,
  type Content,
  type JsonObject,
  type RecordedEvent,
  type ResourceDeclaration,
  type ResourceEntity,
  type ResourceEvent,
  StreamDamagedError,
  type TProperties,
} from '../contract/index.ts'
import { type AppliedChange, anyRevision, type Precondition } from '../http/change-headers.ts'
import { answerInTime } from '../threads/timeout.ts'
import type { AsOf } from '../util/as-of.ts'
import type { EntityChange } from './changes.ts'
import type { Resource } from './resource.ts'

/** The entities as they are now. */
export interface ResourceState<Entity extends ResourceEntity> {
  find(id: Entity['id']): Entity | undefined
  /** All, or the parts of one parent. Throws 404 for an unknown parent. */
  list(parentId: number): readonly Entity[]
  /** The id of what an entity is a part of. */
  parentOf?(id: Entity['id']): number | undefined
  /** Revision of the stream of an entity, or of a parent; -1 before its first event. */
  streamRevision(id: Entity['id']): number
  streamRevision(id: number): number
  /** Why an event had no effect, as a sentence: another node had decided on something else before. */
  withoutEffect?(event: RecordedEvent): string | undefined
}

interface Command {
  readonly stream: string
  revision?(): number
  decide(): readonly ResourceEvent[]
}

interface PastEvent {
  readonly record: RecordedEvent
  /** Undefined for an event that this version cannot decode. */
  readonly event: ResourceEvent | undefined
}

/** What all resources depend on. */
export interface ResourceServices {
  readonly writer: {
    write(command: Command, author: Author): Promise<(Appended & { readonly time: string }) | undefined>
  }
  readonly ids: { reserve(count: number, author: Author): Promise<number> }
  readonly history: {
    /** The events of a stream up to a point in the log. Throws 400 if that is in the future. */
    eventsOf(stream: string, asOf?: AsOf): Promise<readonly PastEvent[]>
    /** The events of one change. */
    eventsOfChange(change: AppliedChange): Promise<readonly PastEvent[]>
  }
}

/** Changes to the entities of a resource. Each resolves when all processes of this node apply it. */
export interface ResourceCommands<Entity extends ResourceEntity, Given> {
  /** Throws 404, and 412 unless the entity is as expected. */
  require(id: Entity['id'], expected?: Precondition): Entity
  /**
   * `more`: fields of the event that no client sets or sees. `parentId`: of what it is a part of; 404 if that
   * does not exist. `further`: events that are written with the creation.
   */
  create(
    content: Given,
    author: Author,
    more?: JsonObject,
    parentId?: number,
    further?: (id: Entity['id']) => readonly ResourceEvent[],
  ): Promise<Entity>
  /** Returns the entity that a request with an `Idempotency-Key` created before, as it was then. */
  created(change: AppliedChange): Promise<Entity>
  /** Throws 404, and 412 unless the entity is as expected. Returns the entity right after the change. */
  change(
    id: Entity['id'],
    changes: { readonly [Name in keyof Given]?: Given[Name] | undefined },
    expected: Precondition,
    author: Author,
  ): Promise<{ readonly before: Entity; readonly after: Entity }>
  /** Throws 404, 412 like `change`, and 409 while something refers to the entity. */
  delete(id: Entity['id'], expected: Precondition, author: Author): Promise<void>
  /** Writes the events that `decide` returns. Returns the entity before and after. */
  write(
    id: Entity['id'],
    decide: () => readonly ResourceEvent[],
    author: Author,
    parentId?: number,
  ): Promise<{ readonly before: Entity | undefined; readonly after: Entity | undefined }>
  /** All changes of an entity, oldest first. Throws 404 if it never existed. */
  history(id: Entity['id'], asOf?: AsOf): Promise<readonly EntityChange<Entity>[]>
  /** Fields of the entity, as it is now, that are elsewhere. */
  derive(entity: Entity): JsonObject | undefined
}

export function createResourceCommands<Entity extends ResourceEntity, Fields extends TProperties, Services>(
  declaration: ResourceDeclaration<Entity, Fields, Services>,
  { events, notFound, etag }: Resource<Entity, Fields>,
  state: ResourceState<Entity>,
  services: ResourceServices & Services,
): ResourceCommands<Entity, Content<Fields>> {
  type Id = Entity['id']
  const { writer, ids, history } = services
  const { name, parent, complete = (given) => given, checkReferences, checkUnused } = declaration
  const derive = (entity: Entity) => declaration.derive?.(entity, services)

  function requireEntity(id: Id, expected = anyRevision): Entity {
    const entity = state.find(id)
    if (entity === undefined) throw notFound(id)
    if (expected !== anyRevision) expected(etag(entity, derive(entity)), name)
    return entity
  }

  function requireParent(id: Id): number {
    const parentId = state.parentOf?.(id)
    if (parentId === undefined) throw notFound(id)
    return parentId
  }

  /** Of what has the stream of an entity: itself, or what it is a part of. */
  const streamIdOf = (id: Id) => (parent ? requireParent(id) : id)

  async function write(
    id: Id,
    decide: () => readonly ResourceEvent[],
    author: Author,
    streamId = streamIdOf(id),
  ) {
    let before: Entity | undefined
    let decided: readonly ResourceEvent[] = []
    const stream = events.stream(streamId)
    const command = {
      stream,
      revision: () => state.streamRevision(streamId),
      decide() {
        before = state.find(id)
        decided = decide()
        return decided
      },
    }
    const written = await writer.write(command, author)
    if (written === undefined) return { before, after: before }
    const { position, time } = written
    const first = written.revision - decided.length + 1
    const after = decided.reduce(
      (entity, event, index) =>
        parent && !events.isAbout(id, event)
          ? entity
          : events.fold(entity, event, { stream, revision: first + index, position, metadata: { time } }),
      before,
    )
    return { before, after }
  }

  async function deleteEntity(id: Id, expected: Precondition, author: Author): Promise<void> {
    const decide = () => {
      const entity = requireEntity(id, expected)
      checkUnused?.(entity, services)
      return events.deleted(entity, parent && requireParent(id))
    }
    try {
      await write(id, decide, author)
    } catch (error) {
      if (events.fallbackStream === undefined || !StreamDamagedError.isInstance(error)) throw error
      // At any revision: deleting twice has no further effect.
      await writer.write({ stream: events.fallbackStream, decide }, author)
    }
    // If another process has referred to it meanwhile, it was not deleted.
    const kept = state.find(id)
    if (kept !== undefined) checkUnused?.(kept, services)
  }

  const commands: Pick<ResourceCommands<Entity, Content<Fields>>, 'create' | 'change' | 'delete'> = {
    async create(given, author, more, parentId, further = () => []) {
      const content = complete(given, undefined, services)
      checkReferences?.(content, services, undefined)
      const id = await declaration.id.create(ids, author)
      const decide = () => {
        checkReferences?.(content, services, id)
        return [events.created(id, { ...content, ...more }, parentId), ...further(id)]
      }
      const { after = requireEntity(id) } = await write(id, decide, author, parentId)
      try {
        // Another process may have deleted what it refers to meanwhile, or have created the same.
        checkReferences?.(content, services, id)
      } catch (error) {
        // The request's Idempotency-Key stands for the creation.
        const { idempotency: _, ...remover } = author
        await deleteEntity(id, anyRevision, remover)
        throw error
      }
      return after
    },
    async change(id, given, expected, author) {
      const decide = () => {
        const entity = requireEntity(id, expected)
        const changes = findChanges(entity, complete(given, entity, services))
        if (Object.keys(changes).length === 0) return []
        checkReferences?.(changes as Changes<Fields>, services, id)
        return events.changed(id, changes)
      }
      const { before = requireEntity(id), after = before } = await write(id, decide, author)
      if (before !== after) declaration.checkAfterChange?.(before, after, services)
      return { before, after }
    },
    delete: deleteEntity,
  }

  return {
    require: requireEntity,
    write: (...args) => answerInTime(write(...args)),
    create: (...args) => answerInTime(commands.create(...args)),
    change: (...args) => answerInTime(commands.change(...args)),
    delete: (...args) => answerInTime(commands.delete(...args)),
    derive,
    async created(change) {
      let entity: Entity | undefined
      for (const { record, event } of await history.eventsOfChange(change))
        if (event && (entity === undefined || events.isAbout(entity.id, event)))
          entity = events.fold(entity, event, record)
      if (entity !== undefined) return entity
      throw new Error(`the events of stream ${change.stream} cannot be decoded`)
    },
    async history(id, asOf) {
      const changes: EntityChange<Entity>[] = []
      let before: Entity | undefined
      const streams = [events.stream(streamIdOf(id)), events.fallbackStream ?? []].flat()
      const past = await Promise.all(streams.map((stream) => history.eventsOf(stream, asOf)))
      for (const { record, event } of past.flat().sort((a, b) => a.record.position - b.record.position)) {
        if (event === undefined || !events.isAbout(id, event)) continue
        const noEffect = state.withoutEffect?.(record)
        const after = noEffect === undefined ? events.fold(before, event, record) : before
        changes.push({ record, event, before, after, noEffect })
        before = after
      }
      return changes
    },
  }
}

/** The given fields that differ from what there is. Those that are undefined are removed. */
function findChanges(entity: ResourceEntity, given: object): JsonObject {
  // The cast is safe: entities are plain objects.
  const current = entity as unknown as JsonObject
  const entries = Object.entries(given).filter(([field, value]) => !isDeepStrictEqual(current[field], value))
  return Object.fromEntries(entries)
}
