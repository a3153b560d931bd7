import { operator } from '../../core/contract/index.ts'
import { isOwnPolicy } from '../../projections/operator-scope.ts'
import type { Policies } from '../../projections/policies.ts'
import type { RuleScope } from '../rules/index.ts'
import { policyId, policyNotFoundError } from './policies.ts'

/** The rules of the policy that the path names. */
export function createPolicyScope(policies: Pick<Policies, 'policy' | 'revision'>): RuleScope {
  return {
    path: '/admin/policies/{policy_id}',
    params: { policy_id: policyId },
    read: operator('auditor', 'filtered'),
    write: operator('editor', 'filtered'),
    operation: 'Policy',
    whose: "a policy's",
    ownerOf({ params, scope }, isPast = false) {
      // The cast is safe: the paths of all endpoints have this parameter.
      const { policy_id: id } = params as { readonly policy_id: number }
      const policy = policies.policy(id)
      if (scope ? policy && isOwnPolicy(policy, scope) : policy || (isPast && policies.revision(id) >= 0))
        return id
      throw policyNotFoundError(id)
    },
  }
}
