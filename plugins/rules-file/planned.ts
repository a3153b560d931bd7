import type { JsonObject, Position, Warning } from '../../core/contract/index.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import type { Groups } from '../../projections/groups.ts'
import type { OverallBudget } from '../../projections/overall-budget.ts'
import type { Policies } from '../../projections/policies.ts'
import type { RuleKindName, Rules } from '../../projections/rules.ts'
import type { RuleKinds } from '../rules/index.ts'

/** What a file is compared with. */
export interface RulesFileState {
  readonly accounts: Pick<Accounts, 'user' | 'users' | 'ownerOfKey'>
  readonly groups: Pick<Groups, 'group' | 'groups' | 'groupsOf' | 'members' | 'revision'>
  readonly policies: Pick<Policies, 'policy' | 'policies' | 'policyOfGroup' | 'rulesOf' | 'revision'>
  readonly rules: Pick<Rules, 'of' | 'revision'>
  readonly overallBudget: Pick<OverallBudget, 'current' | 'shadow' | 'revision'>
  readonly kinds: RuleKinds
}

/** An id of something that exists, or of something new, which gets it when the plan is applied. */
export type PlannedId = number | { readonly newIndex: number }

export type ToId = (id: PlannedId) => number

/** What the events of a change belong to: each is one stream. */
export type StreamOwner =
  | { readonly type: 'group' | 'policy' | 'user' | 'rules'; readonly id: PlannedId }
  | { readonly type: 'budget' }

/** Events that are appended together. */
export interface StreamWrite {
  readonly owner: StreamOwner
  /** Such as `policy "Personal data"`. */
  readonly title: string
  /** Revision of the stream that the plan was made for; -1 for a new one. */
  readonly revision: number
  readonly events: ((toId: ToId) => readonly DomainEvent[])[]
}

interface FieldChange {
  readonly from: unknown
  readonly to: unknown
}

export interface RuleListChanges {
  readonly added: readonly JsonObject[]
  readonly changed: readonly {
    readonly id: number
    readonly name: string
    readonly changes: Readonly<Record<string, FieldChange>>
  }[]
  readonly removed: readonly JsonObject[]
}

/** The lists of rules in the file, in the order in which changes to them are shown. */
export const RULE_LISTS = ['firewall_rules', 'routing_rules', 'tool_rules'] as const

export type RuleListName = (typeof RULE_LISTS)[number]

const LIST_KINDS = { firewall_rules: 'firewall', routing_rules: 'routing', tool_rules: 'tool' } as const

/** The kind of the rules in a list. */
export const kindOfList = (list: RuleListName): RuleKindName => LIST_KINDS[list]

/** A difference between the file and what there is. */
export interface PlannedChange extends Readonly<Partial<Record<RuleListName, RuleListChanges>>> {
  readonly action: 'add' | 'change' | 'remove'
  readonly type: 'group' | 'policy' | 'user' | 'budget'
  /** Null for something new, and for the budget of everything. */
  readonly id: number | string | null
  readonly name: string
  readonly fields?: Readonly<Record<string, FieldChange>>
  readonly members?: { readonly added: readonly UserName[]; readonly removed: readonly UserName[] }
}

export interface UserName {
  readonly id: number
  readonly name: string
}

/** A warning about a rule of the file, which is valid. */
export interface FileWarning extends Warning {
  readonly path: string
}

export interface RulesPlan {
  /** Position of the event log that the plan was made at. */
  readonly position: Position
  readonly changes: readonly PlannedChange[]
  readonly warnings: readonly FileWarning[]
  /** In the order in which they are made. */
  readonly writes: readonly StreamWrite[]
  /** How many ids the new groups, policies and rules need. */
  readonly newIds: number
}

/** The current revision of a stream; -1 if there is none yet. */
export function streamRevision(owner: StreamOwner, state: RulesFileState): number {
  if (owner.type === 'budget') return state.overallBudget.revision()
  const { type, id } = owner
  if (typeof id !== 'number') return -1
  if (type === 'group') return state.groups.revision(id)
  if (type === 'policy') return state.policies.revision(id)
  return type === 'rules' ? state.rules.revision(id) : (state.accounts.user(id)?.revision ?? -1)
}
