import { hash } from 'node:crypto'
import { type Admission, GatewayError, type MaybePromise } from '../../core/contract/index.ts'
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
    const key = bearerTokenOf(request.headers.authorization)
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
 * Returns the SHA-256 of a key in hex, the only form in which API keys are stored. API keys have 256 bits of
 * entropy, so an unsalted hash resists brute force.
 */
export function hashApiKey(key: string): string {
  return hash('sha256', key)
}

/** Returns the token of an `Authorization: Bearer` header, or undefined. */
export function bearerTokenOf(header: string | undefined): string | undefined {
  return header?.match(/^Bearer +(\S+) *$/i)?.[1]
}
