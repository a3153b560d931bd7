import type { Plan } from '../../core/contract/index.ts'

/** Whether the rules of a user with this plan apply. Policies apply on every plan. */
export function includesOwnRules(plan: Plan): boolean {
  return plan === 'paid'
}
