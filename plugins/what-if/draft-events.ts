import type { RuleSet } from '../../core/contract/index.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { isRuleEvent, type RuleEvent, ruleKindOf } from '../../projections/events/rules.ts'
import { allRules, RULE_KINDS, type RuleKindName } from '../../projections/rules.ts'
import { FIRST_DRAFT_ID } from '../audit/index.ts'
import type { RulesFileState, RulesPlan, StreamOwner, StreamWrite, ToId } from '../rules-file/index.ts'

export type DraftAction = 'add' | 'change' | 'remove'

/** A policy, user or group that the drafts change. */
export interface DraftOwner {
  readonly type: 'policy' | 'user' | 'group'
  readonly id: number
  readonly name: string
  readonly action: DraftAction
  readonly rules: readonly DraftRule[]
  /** Of a group: the users who join or leave it; all members if it is removed. */
  readonly members: readonly number[]
}

export interface DraftRule {
  readonly kind: RuleKindName
  readonly id: number
  readonly name: string
  readonly action: DraftAction
}

/** What a file of drafts would append, with the ids of drafts for what is new. */
export interface DraftEvents {
  readonly events: readonly DomainEvent[]
  readonly owners: readonly DraftOwner[]
  /** The drafts change the budget of copies for other models. */
  readonly changesCopyBudget: boolean
}

const toId: ToId = (id) => (typeof id === 'number' ? id : FIRST_DRAFT_ID + id.newIndex)

type DraftState = Pick<RulesFileState, 'accounts' | 'groups' | 'policies' | 'rules'>

/**
 * Returns the events of a plan, and what they are about. See docs/decisions/what-if.md, "Drafts are a rules
 * file".
 */
export function toDraftEvents({ writes }: RulesPlan, state: DraftState): DraftEvents {
  const events: DomainEvent[] = []
  const owners = new Map<string, DraftOwner>()
  let changesCopyBudget = false
  for (const write of writes) {
    const appended = write.events.flatMap((event) => event(toId))
    events.push(...appended)
    if (appended.some(({ type }) => type.startsWith('ShadowBudget'))) changesCopyBudget = true
    for (const owner of describeWrite(write, appended, state)) {
      const key = `${owner.type} ${owner.id}`
      const known = owners.get(key)
      owners.set(key, known ? { ...known, members: [...known.members, ...owner.members] } : owner)
    }
  }
  return { events, owners: [...owners.values()], changesCopyBudget }
}

function describeWrite(
  { owner }: StreamWrite,
  events: readonly DomainEvent[],
  state: DraftState,
): readonly DraftOwner[] {
  if (owner.type === 'policy') return [describePolicy(toId(owner.id), events, state)]
  if (owner.type === 'rules') return [describeUserRules(toId(owner.id), events, state)]
  return describeGroups(owner, events, state)
}

function describePolicy(id: number, events: readonly DomainEvent[], { policies }: DraftState): DraftOwner {
  const current = policies.rulesOf(id)
  const [created] = events.filter(({ type }) => type === 'PolicyCreated')
  const isRemoved = events.some(({ type }) => type === 'PolicyDeleted')
  const removed = RULE_KINDS.flatMap((kind) =>
    current[kind].map(({ id, name }) => ({ kind, id, name, action: 'remove' as const })),
  )
  return {
    type: 'policy',
    id,
    name: created?.type === 'PolicyCreated' ? created.data.name : (policies.policy(id)?.name ?? ''),
    action: isRemoved ? 'remove' : created ? 'add' : 'change',
    rules: isRemoved ? removed : describeRules(events, current),
    members: [],
  }
}

function describeUserRules(
  id: number,
  events: readonly DomainEvent[],
  { accounts, rules }: DraftState,
): DraftOwner {
  const name = accounts.user(id)?.name ?? ''
  return { type: 'user', id, name, action: 'change', rules: describeRules(events, rules.of(id)), members: [] }
}

function describeRules(events: readonly DomainEvent[], current: RuleSet): readonly DraftRule[] {
  const names = new Map(allRules(current).map(({ id, name }) => [id, name]))
  return events.filter(isRuleEvent).map((event) => {
    const { ruleId: id } = event.data
    return {
      kind: ruleKindOf(event),
      id,
      name: nameOf(event) ?? names.get(id) ?? '',
      action: actionOf(event),
    }
  })
}

function nameOf({ data }: RuleEvent): string | undefined {
  if ('content' in data) return data.content.name
  return 'changes' in data ? data.changes.name : undefined
}

function actionOf({ type }: DomainEvent): DraftAction {
  if (type.endsWith('Created')) return 'add'
  return type.endsWith('Deleted') ? 'remove' : 'change'
}

/** Members are events of users. */
function describeGroups(
  owner: StreamOwner,
  events: readonly DomainEvent[],
  { groups }: DraftState,
): readonly DraftOwner[] {
  if (owner.type === 'group') {
    const id = toId(owner.id)
    const [event] = events.filter(({ type }) => /^Group(Created|Updated|Deleted)$/.test(type))
    if (event === undefined) return []
    const name = event.type === 'GroupCreated' ? event.data.name : (groups.group(id)?.name ?? '')
    const action = actionOf(event)
    const members = action === 'remove' ? groups.members(id) : []
    return [{ type: 'group', id, name, action, rules: [], members }]
  }
  return events.flatMap((event) => {
    if (event.type !== 'UserAddedToGroup' && event.type !== 'UserRemovedFromGroup') return []
    const { groupId: id, userId } = event.data
    const name = groups.group(id)?.name ?? ''
    return [{ type: 'group', id, name, action: 'change', rules: [], members: [userId] } as const]
  })
}
