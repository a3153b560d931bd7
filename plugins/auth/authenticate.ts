import { hash, timingSafeEqual } from 'node:crypto'
import { GatewayError, type GatewayMiddleware } from '../../core/contract/index.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { AuthFailureLimiter } from './auth-failures.ts'

/**
 * Sets `ctx.account` to the account of the request's API key. Responds with 401 to a missing or invalid key,
 * and with 429 to invalid keys from an address over its failure limit. Valid keys are accepted from such an
 * address: they cannot be guessed, and other users may share the address. See docs/decisions/limits.md, "A
 * valid API key is served from an address that guesses; the admin key is not".
 */
export function requireApiKey(accounts: Accounts, authFailures: AuthFailureLimiter): GatewayMiddleware {
  return (ctx, next) => {
    const key = bearerTokenOf(ctx.headers.authorization)
    if (key === undefined) {
      throw new GatewayError(
        'invalid_api_key',
        'Missing API key. Send it as "Authorization: Bearer <API_KEY>".',
      )
    }
    const account = accounts.byKeyHash(hashApiKey(key))
    if (account === undefined) {
      const error = new GatewayError(
        'invalid_api_key',
        'Invalid API key: unknown or revoked. Send a valid key as "Authorization: Bearer <API_KEY>".',
      )
      return throwResolved(authFailures.recordFailure('api', ctx.req, error))
    }
    ctx.account = account
    return next()
  }
}

async function throwResolved(error: Promise<GatewayError>): Promise<never> {
  throw await error
}

/**
 * Admits requests with the admin key and responds with 401 to all others. Once an address is over its failure
 * limit, even the correct key gets 429: operators choose this key, so a correct guess must not be apparent.
 * See docs/decisions/limits.md, "A valid API key is served from an address that guesses; the admin key is
 * not".
 */
export function requireAdminKey(adminKey: string, authFailures: AuthFailureLimiter): GatewayMiddleware {
  const expectedHash = Buffer.from(hashApiKey(adminKey))
  return async (ctx, next) => {
    const key = bearerTokenOf(ctx.headers.authorization)
    if (key === undefined) {
      throw new GatewayError(
        'invalid_api_key',
        'Missing admin key. Send it as "Authorization: Bearer <ADMIN_KEY>".',
      )
    }
    if (!timingSafeEqual(Buffer.from(hashApiKey(key)), expectedHash)) {
      const error = new GatewayError(
        'invalid_api_key',
        'Invalid admin key. Send the configured key as "Authorization: Bearer <ADMIN_KEY>".',
      )
      throw await authFailures.recordFailure('admin', ctx.req, error)
    }
    const limitError = authFailures.limitErrorFor('admin', ctx.req)
    if (limitError !== undefined) throw limitError
    await next()
  }
}

/**
 * Returns the SHA-256 of a key in hex, the only form in which API keys are stored. API keys have 256 bits of
 * entropy, so an unsalted hash resists brute force.
 */
export function hashApiKey(key: string): string {
  return hash('sha256', key)
}

/** Returns the token of an `Authorization: Bearer` header, or undefined. */
function bearerTokenOf(header: string | undefined): string | undefined {
  return header?.match(/^Bearer +(\S+) *$/i)?.[1]
}
