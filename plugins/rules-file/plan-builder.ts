import { isDeepStrictEqual } from 'node:util'
import type { Position } from '../../core/contract/index.ts'
import { showFields } from '../../core/resources/names.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { type BudgetTarget, findBudget, parseBudget, toBudgetEvent } from '../budget/index.ts'
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
  const ofEverything = [
    ['all', 'everything together', entries.overall],
    ['shadow', 'copies for other models', entries.shadow],
  ] as const
  for (const [type, name, entry] of ofEverything)
    if (entry !== undefined) {
      const place = { owner: { type: 'budget' }, title: `budget of ${name}` } as const
      planBudget({ id: null, name, ...place, toTarget: () => ({ type }) }, entry, builder)
    }
  for (const [index, { user, budget }] of (entries.users ?? []).entries()) {
    const path = `budgets.users[${index}]`
    const userId = references.findUser(user)
    if (typeof userId === 'string') issues.add(`${path}.user`, userId)
    else if (!isListedTwice(path, `user ${userId}`)) {
      const place = placeOfUser(userId, builder)
      const toTarget = () => ({ type: 'user', userId }) as const
      planBudget({ id: userId, name: place.title, ...place, toTarget }, budget, builder)
    }
  }
  for (const [index, { group, budget }] of (entries.groups ?? []).entries()) {
    const path = `budgets.groups[${index}]`
    const groupId = references.findGroup(group)
    if (typeof groupId === 'string') issues.add(`${path}.group`, groupId)
    else if (!isListedTwice(path, `group ${JSON.stringify(groupId)}`)) {
      const title = `group "${references.groupName(groupId)}"`
      const toTarget = (toId: ToId) => ({ type: 'group', groupId: toId(groupId) }) as const
      const id = typeof groupId === 'number' ? groupId : null
      const owner = { type: 'group', id: groupId } as const
      planBudget({ id, name: title, owner, title, toTarget }, budget, builder)
    }
  }
  for (const [index, { key: keyId, budget }] of (entries.keys ?? []).entries()) {
    const path = `budgets.keys[${index}]`
    const user = state.accounts.ownerOfKey(keyId)
    if (user === undefined) issues.add(`${path}.key`, 'There is no API key with this id.')
    else if (!isListedTwice(path, `key ${keyId}`)) {
      const place = placeOfUser(user.id, builder)
      const toTarget = () => ({ type: 'key', keyId }) as const
      planBudget({ id: keyId, name: `key ${keyId} of ${place.title}`, ...place, toTarget }, budget, builder)
    }
  }
}

const placeOfUser = (id: number, { references }: PlanBuilder) =>
  ({ owner: { type: 'user', id }, title: `user "${references.userName(id)}"` }) as const

interface PlannedBudget extends Pick<PlannedChange, 'id' | 'name'>, Pick<StreamWrite, 'owner' | 'title'> {
  toTarget(toId: ToId): BudgetTarget
}

/** Plans what differs from the budget that there is. A group that the file adds has no number, and none. */
function planBudget(
  { id, name, owner, title, toTarget }: PlannedBudget,
  entry: BudgetEntry,
  builder: PlanBuilder,
): void {
  const { changes, state } = builder
  const current = findBudget(toTarget(Number), state)
  const wanted = entry ? parseBudget(entry) : undefined
  if (isDeepStrictEqual(current, wanted)) return
  const fields = diffFields(current ? showFields(current) : {}, wanted ? showFields(wanted) : {})
  const action = current === undefined ? 'add' : wanted === undefined ? 'remove' : 'change'
  changes.push({ action, type: 'budget', id, name, fields })
  builder.write(owner, title, (toId) => [toBudgetEvent(toTarget(toId), wanted, state)])
}
