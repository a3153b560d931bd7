import type { Account, CallerIdentity } from '../../core/contract/index.ts'
import { pickLimits, type User } from '../../projections/events/users.ts'

/** The account of a user who has no key, but a token. */
export function toIdentityAccount(user: User, identity: CallerIdentity): Account {
  const { id: userId, name, plan, position } = user
  return { userId, name, plan, keyId: '', identity, position, ...pickLimits(user) }
}
