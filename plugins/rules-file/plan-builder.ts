import { isDeepStrictEqual } from 'node:util'
import type { Position } from '../../core/contract/index.ts'
import { showFields } from '../../core/resources/names.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import type { Budget } from '../../projections/events/budgets.ts'
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
} from './planned.ts'
import { FileIssues, References } from './references.ts'
import type { BudgetEntries } from './schemas.ts'

/** What others refer to, which are groups, comes before them, and is removed after them. */
const PHASES = ['group', 'user', 'policy', 'rules', 'budget', 'removed'] as const

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
