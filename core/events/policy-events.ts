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
