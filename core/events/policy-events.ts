import type { Budget } from './domain-events.ts'

/**
 * Changes to a group of users, in stream `group-{id}`. Its members are in the streams of the users. See
 * docs/decisions/policies.md, "A membership is an event of the user".
 */
export type GroupEvent =
  | { type: 'GroupCreated'; data: { groupId: number } & GroupContent }
  | { type: 'GroupUpdated'; data: { groupId: number; changes: Partial<GroupContent> } }
  | { type: 'GroupDeleted'; data: { groupId: number } }
  | { type: 'GroupBudgetSet'; data: { groupId: number; budget: Budget } }
  | { type: 'GroupBudgetRemoved'; data: { groupId: number } }

/** The fields of a group that operators set. */
export type GroupContent = {
  readonly name: string
  readonly description: string | null
}

export const groupStream = (groupId: number): string => `group-${groupId}`

/** Changes to the settings of a policy, in stream `policy-{id}`, which also holds the events of its rules. */
export type PolicyEvent =
  | { type: 'PolicyCreated'; data: { policyId: number } & PolicyContent }
  | { type: 'PolicyUpdated'; data: { policyId: number; changes: Partial<PolicyContent> } }
  | { type: 'PolicyDeleted'; data: { policyId: number } }

/** The fields of a policy that operators set. */
export type PolicyContent = {
  readonly name: string
  readonly description: string | null
  readonly isEnabled: boolean
  /** Policies with a higher priority are evaluated first; of equal ones, the older one. */
  readonly priority: number
  readonly appliesTo: PolicyScope
  /** What users see of the rules; see `PolicyVisibility`. Undefined: `name`. */
  readonly visibility?: PolicyVisibility
}

/** `name`: that a rule exists, its name and action. `full`: its pattern, conditions and values, too. */
export type PolicyVisibility = 'name' | 'full'

/** The users that a policy applies to. */
export type PolicyScope =
  | { readonly everyone: true }
  | { readonly groups: readonly number[]; readonly users: readonly number[] }

/** See docs/decisions/policies.md, "A policy is one stream". */
export const policyStream = (policyId: number): string => `policy-${policyId}`
