import { isDeepStrictEqual } from 'node:util'
import type { Position } from '../../core/contract/index.ts'
import { showFields } from '../../core/resources/names.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import type { Budget } from '../../projections/events/budgets.ts'
import type { Group, GroupContent } from '../../projections/events/groups.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { parseBudget } from '../budget/index.ts'
import { diffFields } from '../rules/index.ts'
import {
  type FileWarning,
  type PlannedChange,
  type PlannedId,
  type RulesFileState,
  type RulesPlan,
  type StreamOwner,
  type StreamWrite,
  streamRevision,
  type ToId,
  type UserName,
} from './planned.ts'
import { FileIssues, matchEntries, References } from './references.ts'
import type { BudgetEntries, GroupEntry } from './schemas.ts'

/** Groups come before what refers to them, and are removed after it. */
const PHASES = ['group', 'user', 'policy', 'rules', 'budget', 'removed-group'] as const

type Phase = (typeof PHASES)[number]

/** The parts of a plan while it is made. */
export class PlanBuilder {
  readonly issues = new FileIssues()
  readonly changes: PlannedChange[] = []
  readonly warnings: FileWarning[] = []
  readonly state: RulesFileState
  readonly references: References
  /** Rules are planned in time slices. */
  readonly slice = createCooperativeYield()
  readonly #writes = new Map<string, StreamWrite & { readonly phase: Phase }>()
  #newIds = 0

  constructor(state: RulesFileState) {
    this.state = state
    this.references = new References(state)
  }

  newId(): PlannedId {
    return { newIndex: this.#newIds++ }
  }

  /**
   * Adds events to those that are appended to the stream of the owner. `revision` is that of the stream when
   * what it is compared with was read: pass it if the plan has waited since.
   */
  write(
    owner: StreamOwner,
    title: string,
    events: (toId: ToId) => readonly DomainEvent[],
    {
      phase = owner.type,
      revision = streamRevision(owner, this.state),
    }: { phase?: Phase; revision?: number } = {},
  ): void {
    const key = JSON.stringify(owner)
    const known = this.#writes.get(key)
    if (known !== undefined) known.events.push(events)
    else this.#writes.set(key, { owner, title, revision, events: [events], phase })
  }

  build(position: Position): RulesPlan {
    const { changes, warnings } = this
    const writes = PHASES.flatMap((phase) => [...this.#writes.values()].filter((w) => w.phase === phase))
    return { position, changes, warnings, writes, newIds: this.#newIds }
  }
}

type BudgetEntry = BudgetEntries['overall']

/** Plans the budgets that are listed. */
export function planBudgets(entries: BudgetEntries, builder: PlanBuilder): void {
  const { issues, references, state } = builder
  const seen = new Set<string>()
  const isListedTwice = (path: string, owner: string) => {
    if (seen.has(owner)) issues.add(path, 'The budget is listed twice.')
    return seen.has(owner) || !seen.add(owner)
  }
  const { overall, shadow } = entries
  if (overall !== undefined) {
    const name = 'everything together'
    if (compareBudgets(null, name, state.overallBudget.current(), overall, builder))
      builder.write({ type: 'budget' }, `budget of ${name}`, () =>
        overall === null
          ? [{ type: 'OverallBudgetRemoved', data: {} }]
          : [{ type: 'OverallBudgetSet', data: { budget: parseBudget(overall) } }],
      )
  }
  if (shadow !== undefined) {
    const name = 'copies for other models'
    if (compareBudgets(null, name, state.overallBudget.shadow(), shadow, builder))
      builder.write({ type: 'budget' }, `budget of ${name}`, () =>
        shadow === null
          ? [{ type: 'ShadowBudgetRemoved', data: {} }]
          : [{ type: 'ShadowBudgetSet', data: { budget: parseBudget(shadow) } }],
      )
  }
  for (const [index, { user, budget }] of (entries.users ?? []).entries()) {
    const path = `budgets.users[${index}]`
    const userId = references.findUser(user)
    if (typeof userId === 'string') issues.add(`${path}.user`, userId)
    else if (!isListedTwice(path, `user ${userId}`)) {
      const name = `user "${references.userName(userId)}"`
      if (compareBudgets(userId, name, state.accounts.user(userId)?.budget, budget, builder))
        writeUserBudget(userId, budget, {}, builder)
    }
  }
  for (const [index, { group, budget }] of (entries.groups ?? []).entries()) {
    const path = `budgets.groups[${index}]`
    const groupId = references.findGroup(group)
    if (typeof groupId === 'string') issues.add(`${path}.group`, groupId)
    else if (!isListedTwice(path, `group ${JSON.stringify(groupId)}`))
      planGroupBudget(groupId, budget, builder)
  }
  for (const [index, { key, budget }] of (entries.keys ?? []).entries()) {
    const path = `budgets.keys[${index}]`
    const owner = state.accounts.ownerOfKey(key)
    if (owner === undefined) issues.add(`${path}.key`, 'There is no API key with this id.')
    else if (!isListedTwice(path, `key ${key}`)) {
      const current = owner.keys.find(({ id }) => id === key)?.budget
      if (compareBudgets(key, `key ${key} of user "${owner.name}"`, current, budget, builder))
        writeUserBudget(owner.id, budget, { keyId: key }, builder)
    }
  }
}

/** The group may be one that the file adds. */
function planGroupBudget(groupId: PlannedId, entry: BudgetEntry, builder: PlanBuilder): void {
  const { references, state } = builder
  const id = typeof groupId === 'number' ? groupId : null
  const title = `group "${references.groupName(groupId)}"`
  const current = id === null ? undefined : state.groups.group(id)?.budget
  if (!compareBudgets(id, title, current, entry, builder)) return
  builder.write({ type: 'group', id: groupId }, title, (toId) =>
    entry
      ? [{ type: 'GroupBudgetSet', data: { groupId: toId(groupId), budget: parseBudget(entry) } }]
      : [{ type: 'GroupBudgetRemoved', data: { groupId: toId(groupId) } }],
  )
}

/** Returns the change, which is then part of the plan; undefined if there is none. */
function compareBudgets(
  id: PlannedChange['id'],
  name: string,
  current: Budget | undefined,
  entry: BudgetEntry,
  { changes }: PlanBuilder,
): PlannedChange | undefined {
  const wanted = entry ? parseBudget(entry) : undefined
  if (isDeepStrictEqual(current, wanted)) return undefined
  const fields = diffFields(current ? showFields(current) : {}, wanted ? showFields(wanted) : {})
  const action = current === undefined ? 'add' : wanted === undefined ? 'remove' : 'change'
  const change = { action, type: 'budget', id, name, fields } as const
  changes.push(change)
  return change
}

function writeUserBudget(
  userId: number,
  entry: BudgetEntry,
  key: { readonly keyId?: string },
  builder: PlanBuilder,
): void {
  const title = `user "${builder.references.userName(userId)}"`
  const data = { userId, ...key }
  builder.write({ type: 'user', id: userId }, title, () =>
    entry
      ? [{ type: 'BudgetSet', data: { ...data, budget: parseBudget(entry) } }]
      : [{ type: 'BudgetRemoved', data }],
  )
}

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
