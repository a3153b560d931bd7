import { GatewayError } from '../../core/contract/index.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { User } from '../../projections/events/users.ts'

/** Throws 404 if the user does not exist. */
export function requireUser(accounts: Pick<Accounts, 'user'>, id: number): User {
  const user = accounts.user(id)
  if (user === undefined) throw userNotFoundError(id)
  return user
}

/** The 404 for a user. `id` may also be a text in a path that is no id. */
export function userNotFoundError(id: number | string): GatewayError {
  return new GatewayError('not_found', `User ${id} was not found.`)
}
