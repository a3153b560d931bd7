import type { Group, GroupContent } from '../../projections/events/groups.ts'
import { diffFields } from '../rules/index.ts'
import type { PlanBuilder } from './plan-builder.ts'
import type { PlannedChange, PlannedId, UserName } from './planned.ts'
import { matchEntries } from './references.ts'
import type { GroupEntry } from './schemas.ts'

/** Plans the groups: their settings, and their members where these are given. */
export function planGroups(entries: readonly GroupEntry[], builder: PlanBuilder): void {
  const { issues, state, references } = builder
  const known = state.groups.groups()
  const planned: (() => void)[] = []
  for (const { path, entry, found: group } of matchEntries('group', 'groups', entries, known, issues)) {
    if (entry.absent) {
      if (group) references.renameGroup(group.id, undefined)
      if (group) planned.push(() => planRemoval(group, builder))
      continue
    }
    const id = group?.id ?? builder.newId()
    const name = entry.name ?? group?.name ?? ''
    if (group) references.renameGroup(group.id, name)
    else references.addGroup(name, id)
    planned.push(() => planGroup(path, entry, { id, name, group }, builder))
  }
  // Members and policies refer to groups of the whole file.
  for (const plan of planned) plan()
}

interface PlannedGroup {
  readonly id: PlannedId
  readonly name: string
  /** Undefined for a new group. */
  readonly group: Group | undefined
}

function planGroup(
  path: string,
  entry: GroupEntry,
  { id, name, group }: PlannedGroup,
  builder: PlanBuilder,
): void {
  const content: GroupContent = { name, description: entry.description ?? null }
  const fields = diffFields(group ? { name: group.name, description: group.description } : {}, { ...content })
  const title = `group "${name}"`
  const isChanged = Object.keys(fields).length > 0
  if (isChanged)
    builder.write({ type: 'group', id }, title, (toId) => {
      const groupId = toId(id)
      if (group === undefined) return [{ type: 'GroupCreated', data: { groupId, ...content } }]
      return [{ type: 'GroupUpdated', data: { groupId, changes: pickChanged(content, fields) } }]
    })
  const members = planMembers(path, entry, { id, name, group }, builder)
  if (!isChanged && members === undefined) return
  const action = group ? 'change' : 'add'
  builder.changes.push({
    ...{ action, type: 'group', id: group?.id ?? null, name },
    ...(isChanged && { fields }),
    ...(members && { members }),
  })
}

/** The members of a group are events of the users. */
function planMembers(
  path: string,
  { members }: GroupEntry,
  { id, group }: PlannedGroup,
  builder: PlanBuilder,
): PlannedChange['members'] {
  if (members === undefined) return undefined
  const { issues, references, state } = builder
  const wanted = new Set<number>()
  for (const [index, reference] of members.entries()) {
    const userId = references.findUser(reference)
    if (typeof userId === 'string') issues.add(`${path}.members[${index}]`, userId)
    else wanted.add(userId)
  }
  const current = new Set(group ? state.groups.members(group.id) : [])
  const added = [...wanted].filter((userId) => !current.has(userId))
  const removed = [...current].filter((userId) => !wanted.has(userId))
  const writeMember = (userId: number, type: 'UserAddedToGroup' | 'UserRemovedFromGroup') =>
    builder.write({ type: 'user', id: userId }, `user "${references.userName(userId)}"`, (toId) => [
      { type, data: { userId, groupId: toId(id) } },
    ])
  for (const userId of added) writeMember(userId, 'UserAddedToGroup')
  for (const userId of removed) writeMember(userId, 'UserRemovedFromGroup')
  if (added.length + removed.length === 0) return undefined
  const named = (userId: number): UserName => ({ id: userId, name: references.userName(userId) })
  return { added: added.map(named), removed: removed.map(named) }
}

function planRemoval({ id, name, description }: Group, builder: PlanBuilder): void {
  const events = () => [{ type: 'GroupDeleted', data: { groupId: id } } as const]
  builder.write({ type: 'group', id }, `group "${name}"`, events, { phase: 'removed-group' })
  const fields = diffFields({ name, description }, {})
  builder.changes.push({ action: 'remove', type: 'group', id, name, fields })
}

/** The given values of the fields that differ. */
export function pickChanged<Content extends object>(content: Content, changed: object): Partial<Content> {
  const entries = Object.entries(content).filter(([field]) => field in changed)
  // The cast is safe: the fields are those of the content.
  return Object.fromEntries(entries) as Partial<Content>
}
