import { GatewayError, type GatewayMiddleware } from '../../core/contract/index.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { hashKey, readBearer } from './api-key.ts'
import type { FailedKeys } from './failed-keys.ts'

/**
 * Finds the account behind the request's API key, or answers 401, and 429 when too many keys of the address failed. A good key is
 * served from there, too: it cannot be found by guessing, and others may share the address.
 */
export function authenticate(accounts: Accounts, failedKeys: FailedKeys): GatewayMiddleware {
  return (ctx, next) => {
    const key = readBearer(ctx.headers.authorization)
    if (key === undefined) {
      throw new GatewayError(
        'invalid_api_key',
        'Missing API key. Send it as "Authorization: Bearer <API_KEY>".',
      )
    }
    const account = accounts.byKeyHash(hashKey(key))
    if (account === undefined) {
      const refusal = new GatewayError('invalid_api_key', 'Invalid API key. It is unknown or was revoked.')
      return refuse(failedKeys.note('api', ctx.req, refusal))
    }
    ctx.account = account
    return next()
  }
}

async function refuse(refusal: Promise<GatewayError>): Promise<never> {
  throw await refusal
}
