import { hash, timingSafeEqual } from 'node:crypto'
import { GatewayError, type GatewayMiddleware } from '../../core/contract/index.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { AuthFailureLimiter } from './auth-failures.ts'

/**
 * Finds the account behind the request's API key, or answers 401, and 429 when too many keys of the address failed. A good key is
 * served from there, too: it cannot be found by guessing, and others may share the address.
 */
export function requireApiKey(accounts: Accounts, failedKeys: AuthFailureLimiter): GatewayMiddleware {
  return (ctx, next) => {
    const key = readBearer(ctx.headers.authorization)
    if (key === undefined) {
      throw new GatewayError(
        'invalid_api_key',
        'Missing API key. Send it as "Authorization: Bearer <API_KEY>".',
      )
    }
    const account = accounts.byKeyHash(hashApiKey(key))
    if (account === undefined) {
      const refusal = new GatewayError('invalid_api_key', 'Invalid API key. It is unknown or was revoked.')
      return refuse(failedKeys.recordFailure('api', ctx.req, refusal))
    }
    ctx.account = account
    return next()
  }
}

async function refuse(refusal: Promise<GatewayError>): Promise<never> {
  throw await refusal
}

/**
 * Lets the bearer of the admin key through and answers 401 to everybody else. Once too many keys of an address failed, it answers 429 to
 * the right one as well: people choose this key, so guesses must end in nothing.
 */
export function requireAdminKey(adminKey: string, failedKeys: AuthFailureLimiter): GatewayMiddleware {
  const expected = Buffer.from(hashApiKey(adminKey))
  return async (ctx, next) => {
    const given = readBearer(ctx.headers.authorization)
    if (given === undefined) throw wrongKey()
    if (!timingSafeEqual(Buffer.from(hashApiKey(given)), expected))
      throw await failedKeys.recordFailure('admin', ctx.req, wrongKey())
    const refusal = failedKeys.limitErrorFor('admin', ctx.req)
    if (refusal !== undefined) throw refusal
    await next()
  }
}

function wrongKey(): GatewayError {
  return new GatewayError('invalid_api_key', 'Send the admin key as "Authorization: Bearer <ADMIN_KEY>".')
}

/** What is stored of a key: its SHA-256 as hex. A key has 256 bits of chance, so a plain hash cannot be searched. */
export function hashApiKey(key: string): string {
  return hash('sha256', key)
}

/** The token of an `Authorization: Bearer` header, or undefined. */
function readBearer(header: string | undefined): string | undefined {
  return header?.match(/^Bearer +(\S+) *$/i)?.[1]
}
