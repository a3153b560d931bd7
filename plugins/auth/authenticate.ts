import { hash, timingSafeEqual } from 'node:crypto'
import { type Admission, GatewayError, type MaybePromise } from '../../core/contract/index.ts'
import type { AuthenticateOperator } from '../../core/http/endpoints.ts'
import { createDamagedError } from '../../core/http/errors.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { StreamHealth } from '../../projections/runtime/stream-health.ts'
import type { AuthFailureLimiter } from './auth-failures.ts'

/**
 * Sets `account` of the request to the account of its API key. Responds with 401 to a missing or invalid key,
 * and with 429 to invalid keys from an address over its failure limit. Valid keys are accepted from such an
 * address: they cannot be guessed, and other users may share the address.
 */
export function requireApiKey(
  accounts: Accounts,
  streams: Pick<StreamHealth, 'damageOf'>,
  authFailures: AuthFailureLimiter,
) {
  return (request: Admission): MaybePromise<void> => {
    const key = apiKeyOf(request)
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
      return throwResolved(authFailures.recordFailure('api', request.req, error))
    }
    const damaged = streams.damageOf(account.userId)
    if (damaged) throw createDamagedError(`stream ${damaged.stream} of the event log ${damaged.damage}`)
    request.account = account
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
export function requireAdminKey(adminKey: string, authFailures: AuthFailureLimiter): AuthenticateOperator {
  const expectedHash = Buffer.from(hashApiKey(adminKey))
  return (request) => {
    const key = apiKeyOf(request)
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
      return throwResolved(authFailures.recordFailure('admin', request.req, error))
    }
    const limitError = authFailures.limitErrorFor('admin', request.req)
    if (limitError !== undefined) throw limitError
    return { actor: 'admin', requestId: request.requestId }
  }
}

/**
 * Returns the SHA-256 of a key in hex, the only form in which API keys are stored. API keys have 256 bits of
 * entropy, so an unsalted hash resists brute force.
 */
export function hashApiKey(key: string): string {
  return hash('sha256', key)
}

/** Returns the key of a request: the bearer token, or else `x-api-key`, which Anthropic's clients send. */
export function apiKeyOf({ headers }: Pick<Admission, 'headers'>): string | undefined {
  const key = headers['x-api-key']?.toString().trim()
  return bearerTokenOf(headers.authorization) ?? (key || undefined)
}

/** Returns the token of an `Authorization: Bearer` header, or undefined. */
function bearerTokenOf(header: string | undefined): string | undefined {
  return header?.match(/^Bearer +(\S+) *$/i)?.[1]
}
