import { GatewayError, type GatewayMiddleware } from '../../core/contract/index.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { hashKey, readBearer } from './api-key.ts'

/** Finds the account behind the request's API key, or answers 401. */
export function authenticate(accounts: Accounts): GatewayMiddleware {
  return async (ctx, next) => {
    const key = readBearer(ctx.headers.authorization)
    if (key === undefined) {
      throw new GatewayError(
        'invalid_api_key',
        'Missing API key. Send it as "Authorization: Bearer <API_KEY>".',
      )
    }
    const account = accounts.byKeyHash(hashKey(key))
    if (account === undefined) {
      throw new GatewayError('invalid_api_key', 'Invalid API key. It is unknown or was revoked.')
    }
    ctx.account = account
    await next()
  }
}
