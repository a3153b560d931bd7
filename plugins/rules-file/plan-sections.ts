import type { JsonObject, MaybePromise, Rule } from '../../core/contract/index.ts'
import { toCamelCase } from '../../core/resources/names.ts'
import type { Group } from '../../projections/events/groups.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { diffFields, type RuleKind } from '../rules/index.ts'
import type { PlanBuilder } from './plan-builder.ts'
import { planRules } from './plan-rules.ts'
import {
  kindOfList,
  type PlannedChange,
  type PlannedId,
  RULE_LISTS,
  streamRevision,
  type ToId,
  type UserName,
} from './planned.ts'
import type { GroupEntry, PolicyEntry } from './schemas.ts'
import {
  GROUPS,
  mapReferences,
  POLICIES,
  type Reference,
  type ResourceSection,
  type SectionEntity,
  type SectionEntry,
} from './sections.ts'

/** An entry, and what it is about: `found` is undefined for something new. */
interface PlannedEntry<Entry, Known> {
  readonly path: string
  readonly entry: Entry
  readonly found: Known | undefined
  readonly id: PlannedId
  readonly name: string
  /** Revision of its stream. */
  readonly revision: number
}

/** What an entry says beside the fields of the resource. */
interface Parts<Entry, Known> {
  plan(planned: PlannedEntry<Entry, Known>): MaybePromise<PartChanges>
  /** How a removal is shown. */
  remove(removed: Known): Partial<PlannedChange>
}

interface PartChanges {
  /** Empty if there are none. */
  readonly changes: Partial<PlannedChange>
  /** Those in the stream of the entity. */
  readonly events?: (toId: ToId, id: number) => readonly DomainEvent[]
}

/**
 * Plans a section. Returns the entities that it lists. The casts of events are safe: those of a resource are
 * domain events.
 */
async function planSection<Known extends SectionEntity, Entry extends SectionEntry>(
  section: ResourceSection<Known>,
  entries: readonly Entry[],
  builder: PlanBuilder,
  parts: Parts<Entry, Known>,
): Promise<ReadonlySet<Known>> {
  const { issues, state, references } = builder
  const known = section.list(state)
  // Read together: rules are compiled between two entries, and others may change an entity meanwhile.
  const revisions = new Map(known.map(({ id }) => [id, streamRevision({ type: section.name, id }, state)]))
  const planned: PlannedEntry<Entry, Known>[] = []
  const seen = new Set<number | string>()
  for (const [index, entry] of entries.entries()) {
    const path = `${section.plural}[${index}]`
    const found = matchEntry(section.name, entry, known)
    if (typeof found === 'string') {
      issues.add(path, found)
      continue
    }
    const name = entry.name ?? found?.name ?? ''
    const key = found?.id ?? name
    if (seen.has(key)) issues.add(path, `The ${section.name} is listed twice.`)
    seen.add(key)
    if (entry.absent && !found) continue
    const id = found?.id ?? builder.newId()
    planned.push({ path, entry, found, id, name, revision: (found && revisions.get(found.id)) ?? -1 })
    if (section.name === 'group') references.nameGroup(id, entry.absent ? undefined : name)
  }
  // Entries refer to groups of the whole file.
  for (const one of planned) {
    const { entry, found, revision } = one
    const { name: type, events, isReferredTo } = section
    if (!entry.absent) await planEntry(section, one, parts, builder)
    else if (found !== undefined) {
      const toEvents = () => events.deleted(found) as DomainEvent[]
      const phase = isReferredTo ? 'removed' : type
      const { id, name } = found
      builder.write({ type, id }, `${type} "${name}"`, toEvents, { revision, phase })
      builder.changes.push({ action: 'remove', type, id, name, ...parts.remove(found) })
    }
  }
  return new Set(planned.flatMap(({ found }) => found ?? []))
}

/**
 * Finds what an entry is about: by its id, or by its name, which must be unique then. Returns undefined for
 * something new, or the issue as a sentence.
 */
function matchEntry<Known extends SectionEntity>(
  what: string,
  { id, name, absent, ...others }: SectionEntry,
  known: readonly Known[],
): Known | undefined | string {
  if (id === undefined && name === undefined) return `The name of the ${what} is required.`
  if (absent && Object.keys(others).length > 0)
    return `With absent: true, only the id or the name of the ${what} may be given.`
  if (id !== undefined) {
    const found = known.find((one) => one.id === id)
    if (found === undefined && absent) return undefined
    return found ?? `There is no ${what} with the id ${id}. Leave out the id to create one.`
  }
  const [found, another] = known.filter((one) => one.name === name)
  return another === undefined ? found : `More than one ${what} has the name "${name}". Add the id.`
}

async function planEntry<Known extends SectionEntity, Entry extends SectionEntry>(
  section: ResourceSection<Known>,
  planned: PlannedEntry<Entry, Known>,
  parts: Parts<Entry, Known>,
  builder: PlanBuilder,
): Promise<void> {
  const { id, name, found, revision } = planned
  const content = await parseEntry(section, planned, builder)
  const { changes, events } = await parts.plan(planned)
  if (content === undefined) return
  // New groups have no id yet: they are shown by name.
  const showId = (id: PlannedId) => (typeof id === 'number' ? id : builder.references.groupName(id))
  const shown = section.show(mapReferences(content, (_, id: PlannedId) => showId(id)))
  const fields = diffFields(found ? section.show(found) : {}, shown)
  const changed = Object.keys(fields).map(toCamelCase)
  const isChanged = changed.length > 0

  const toEvents = (toId: ToId): readonly DomainEvent[] => {
    const values = mapReferences(content, (_, id: PlannedId) => toId(id))
    const { events: own } = section
    const changes = Object.fromEntries(changed.map((field) => [field, values[field]]))
    const settings = found ? own.changed(found.id, changes) : [own.created(toId(id), values)]
    return [...(isChanged ? (settings as DomainEvent[]) : []), ...(events?.(toId, toId(id)) ?? [])]
  }

  const type = section.name
  if (isChanged || events) builder.write({ type, id }, `${type} "${name}"`, toEvents, { revision })
  if (isChanged || Object.keys(changes).length > 0)
    builder.changes.push({
      ...{ action: found ? 'change' : 'add', type, id: found?.id ?? null, name },
      ...(isChanged && { fields }),
      ...changes,
    })
}

/** Returns undefined if something is missing or wrong, which is then among the issues. */
async function parseEntry<Known extends SectionEntity>(
  section: ResourceSection<Known>,
  { path, entry, name, found }: PlannedEntry<SectionEntry, Known>,
  { issues, references }: PlanBuilder,
): Promise<JsonObject | undefined> {
  const given: JsonObject = { ...entry, name }
  const missing = section.required.filter((field) => given[field] === undefined)
  for (const field of missing) issues.add(`${path}.${field}`, `The ${field} field is required.`)
  if (missing.length > 0) return undefined
  const withIds = mapReferences(given, (kind, reference: Reference, field) => {
    const id = references.find(kind, reference)
    if (typeof id === 'string') issues.add(`${path}${field}`, id)
    return id
  })
  return issues.collect(path, () => section.parse(withIds, found))
}

/** Plans the groups: their settings, and their members where these are given. */
export async function planGroups(entries: readonly GroupEntry[], builder: PlanBuilder): Promise<void> {
  await planSection(GROUPS, entries, builder, {
    plan: (planned) => planMembers(planned, builder),
    remove: (group) => ({ fields: diffFields(GROUPS.show(group), {}) }),
  })
}

/** The members of a group are events of the users. */
function planMembers(
  { path, entry: { members }, id, found }: PlannedEntry<GroupEntry, Group>,
  builder: PlanBuilder,
): PartChanges {
  const { issues, references, state } = builder
  if (members === undefined) return { changes: {} }
  const wanted = new Set<number>()
  for (const [index, reference] of members.entries()) {
    const userId = references.findUser(reference)
    if (typeof userId === 'string') issues.add(`${path}.members[${index}]`, userId)
    else wanted.add(userId)
  }
  const current = new Set(found ? state.groups.members(found.id) : [])
  const named = (userId: number): UserName => ({ id: userId, name: references.userName(userId) })
  const added = [...wanted].filter((userId) => !current.has(userId)).map(named)
  const removed = [...current].filter((userId) => !wanted.has(userId)).map(named)
  const writeMember = (user: UserName, type: 'UserAddedToGroup' | 'UserRemovedFromGroup') =>
    builder.write({ type: 'user', id: user.id }, `user "${user.name}"`, (toId) => [
      { type, data: { userId: user.id, groupId: toId(id) } },
    ])
  for (const user of added) writeMember(user, 'UserAddedToGroup')
  for (const user of removed) writeMember(user, 'UserRemovedFromGroup')
  return { changes: added.length + removed.length > 0 ? { members: { added, removed } } : {} }
}

/** Plans the policies with their rules, and checks that no policy applies to a group that is removed. */
export async function planPolicies(entries: readonly PolicyEntry[], builder: PlanBuilder): Promise<void> {
  const { issues, references, state } = builder
  const listed = await planSection(POLICIES, entries, builder, {
    async plan({ path, entry, found }) {
      const current = found && state.policies.rulesOf(found.id)
      const { changes, events } = await planRules(path, entry, { policyId: found?.id ?? 0 }, current, builder)
      if (Object.keys(changes).length === 0) return { changes }
      return { changes, events: (toId, policyId) => events(toId, { policyId }) }
    },
    remove({ id }) {
      const rules = state.policies.rulesOf(id)
      const lists = RULE_LISTS.map((list) => {
        const kind: RuleKind = state.kinds[kindOfList(list)]
        const shown = (rules[kind.name] as readonly Rule[]).map(kind.show)
        return [list, { added: [], changed: [], removed: shown }]
      })
      return Object.fromEntries(lists)
    },
  })
  // Policies of the file refer to groups that are there afterwards.
  for (const { id, name, appliesTo } of state.policies.policies().filter((policy) => !listed.has(policy)))
    for (const groupId of 'everyone' in appliesTo ? [] : appliesTo.groups)
      if (typeof references.findGroup(groupId) === 'string')
        issues.add('groups', `Group ${groupId} cannot be removed: policy ${id} ("${name}") applies to it.`)
}
