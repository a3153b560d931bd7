import type { Account, RuleSet } from '../core/contract/index.ts'
import type { Accounts } from './accounts.ts'
import type { Rules } from './rules.ts'

/**
 * The caller's account and rules as they are now, both of one moment: since the caller was recognised, a slow body may have
 * come in, and the plan may have changed meanwhile.
 */
export function createCallerSnapshots(accounts: Accounts, rules: Rules) {
  return (account: Account): { account: Account; rules: RuleSet } => {
    const user = accounts.user(account.userId)
    const present = user ? { ...account, plan: user.plan, position: user.position } : account
    return { account: present, rules: rules.of(account.userId) }
  }
}
