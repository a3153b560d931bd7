import { operator } from '../../core/contract/index.ts'
import type { Policies } from '../../projections/policies.ts'
import type { RuleScope } from '../rules/index.ts'
import { policyId, policyNotFoundError } from './policies.ts'

/** The rules of the policy that the path names. */
export function createPolicyScope(policies: Pick<Policies, 'policy' | 'revision'>): RuleScope {
  return {
    path: '/admin/policies/{policy_id}',
    params: { policy_id: policyId },
    read: operator('auditor'),
    write: operator('editor'),
    operation: 'Policy',
    whose: "a policy's",
    ownerOf({ params }, isPast = false) {
      // The cast is safe: the paths of all endpoints have this parameter.
      const { policy_id: id } = params as { readonly policy_id: number }
      if (policies.policy(id) !== undefined || (isPast && policies.revision(id) >= 0)) return id
      throw policyNotFoundError(id)
    },
  }
}
