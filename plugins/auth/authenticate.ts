import {
  type Account,
  type Admission,
  errorsOf,
  GatewayError,
  type MaybePromise,
} from '../../core/contract/index.ts'
import { createDamagedError } from '../../core/http/errors.ts'
import { isPromiseLike } from '../../core/util/maybe-promise.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { StreamHealth } from '../../projections/runtime/stream-health.ts'
import { apiKeyOf, hashKeyOf } from './api-key.ts'
import type { AuthFailureLimiter } from './auth-failures.ts'
import type { CallerTokens } from './caller-tokens.ts'
import type { IssuedTokens } from './issued-tokens.ts'
import { createEndedError as createSessionEndedError, type Sessions } from './sessions.ts'

/**
 * Sets `account` of the request to the account of its API key, or of its session, which most inference
 * endpoints do not accept (docs/decisions/console.md, "Sessions of users send chats, and nothing else that
 * costs money"). Responds with 401 to a missing or invalid key, and with 429 to invalid keys from an address
 * over its failure limit. Valid keys are accepted from such an address: they cannot be guessed, and other
 * users may share the address.
 */
export function requireApiKey(
  accounts: Accounts,
  streams: Pick<StreamHealth, 'damageOf'>,
  authFailures: AuthFailureLimiter,
  sessions: Pick<Sessions, 'authenticate' | 'find' | 'isInferenceAllowed'>,
  issued: Pick<IssuedTokens, 'isToken' | 'find' | 'admit'>,
  tokens: CallerTokens | undefined,
) {
  const confirmByKey = confirmKey(accounts)
  const confirmAccount = (account: Account) =>
    account.identity === undefined ? confirmByKey(account) : tokens?.confirm(account)

  const refuse = (request: Admission, error: GatewayError) =>
    throwResolved(authFailures.recordFailure('api', request.req, error))

  async function verify(request: Admission, token: string, hash: string): Promise<void> {
    const account = await tokens?.verify(token, hash, request).catch((error: unknown) => {
      const isInvalid = GatewayError.isInstance(error) && error.code === 'token_invalid'
      return isInvalid ? refuse(request, error) : Promise.reject(error)
    })
    if (account !== undefined) admit(request, account)
  }

  const challengeOf = tokens?.challengeOf
  if (challengeOf === undefined) return authenticate

  /** Adds to a 401 where tokens are issued. */
  function withChallenge(request: Admission, error: unknown): unknown {
    if (!GatewayError.isInstance(error) || error.status !== 401) return error
    const challenge = challengeOf?.(request.path, request.req.headers)
    return challenge === undefined ? error : error.withHeader('www-authenticate', challenge)
  }

  return (request: Admission): MaybePromise<void> => {
    try {
      const admitted = authenticate(request)
      return isPromiseLike(admitted)
        ? admitted.then(undefined, (error) => Promise.reject(withChallenge(request, error)))
        : admitted
    } catch (error) {
      throw withChallenge(request, error)
    }
  }

  function authenticate(request: Admission): MaybePromise<void> {
    const key = apiKeyOf(request)
    if (key === undefined) {
      const account = accountOfSession(request, sessions)
      return admit(request, account, (current) => confirmSession(request, current))
    }
    const hash = hashKeyOf(request.req.socket, key)
    const account = accounts.byKeyHash(hash)
    if (account !== undefined) return admit(request, account)
    if (issued.isToken(key)) {
      const holder = issued.find(hash) ?? issued.admit(key, hash)
      if (holder === undefined) return refuse(request, createEndedError())
      return admit(request, holder, () => confirmIssued(hash))
    }
    const caller = tokens?.find(hash)
    if (caller !== undefined) return admit(request, caller)
    return tokens?.isToken(key) ? verify(request, key, hash) : refuse(request, createUnknownKeyError())
  }

  function confirmSession({ req }: Admission, account: Account): void {
    if (sessions.find(req.headers) === undefined) throw createSessionEndedError()
    confirmAccount(account)
  }

  function confirmIssued(hash: string): void {
    if (issued.find(hash) === undefined) throw createEndedError()
  }

  function admit(request: Admission, account: Account, confirm = confirmAccount): void {
    // Set first, so that refusals are recorded as the user's.
    request.account = account
    request.confirmAccount = confirm
    checkExpiry(account.keyId, account.keyExpiresAtMs)
    checkEndpoint(account, request.path)
    const damaged = streams.damageOf(account.userId)
    if (damaged) throw createDamagedError(`stream ${damaged.stream} of the event log ${damaged.damage}`)
  }
}

/** Throws 401 without a session, and 403 if it is that of an operator. */
function accountOfSession(
  request: Admission,
  sessions: Pick<Sessions, 'authenticate' | 'isInferenceAllowed'>,
): Account {
  const isAccepted = !request.isInference || sessions.isInferenceAllowed(request)
  const session = isAccepted ? sessions.authenticate(request) : undefined
  if (session?.holder.type === 'user') return session.holder.account
  if (session !== undefined) {
    const message = 'This endpoint is for users. You are signed in as an operator.'
    throw new GatewayError('endpoint_not_allowed', message)
  }
  const message = 'Missing API key. Send it as "Authorization: Bearer <API_KEY>".'
  throw new GatewayError('invalid_api_key', message)
}

/** Throws 403 if the key is restricted to other endpoints. */
export function checkEndpoint({ endpoints }: Account, path: string): void {
  if (endpoints === undefined || endpoints.some((allowed) => isAtOrBelow(path, allowed))) return
  const message = `This key may not use ${path}. It may use: ${endpoints.join(', ')}.`
  throw new GatewayError('endpoint_not_allowed', message)
}

export const AUTH_ERROR_CODES = {
  key_expired: { status: 401, type: 'authentication_error', description: 'The key has expired.' },
} as const

/** Throws 401 if the key has expired. */
function checkExpiry(keyId: string, expiresAtMs: number | undefined): void {
  if (expiresAtMs === undefined || Date.now() < expiresAtMs) return
  const message = `The API key ${keyId} has expired. Ask an operator for a new one.`
  throw errorsOf(AUTH_ERROR_CODES)('key_expired', message)
}

/**
 * Returns a function that throws 401 if the key was revoked or has expired since the request was admitted:
 * its client decides when the body arrives. See docs/decisions/http.md, "The body is read after the caller is
 * authenticated".
 */
function confirmKey(accounts: Pick<Accounts, 'user'>): (account: Account) => void {
  return ({ userId, keyId }) => {
    const key = accounts.user(userId)?.keys.find(({ id }) => id === keyId)
    if (key === undefined || key.revokedAt !== null) throw createUnknownKeyError()
    if (key.expiresAt !== undefined) checkExpiry(keyId, Date.parse(key.expiresAt))
  }
}

/** The 401 for a key that is unknown, revoked, or of a user who was deleted. */
export function createUnknownKeyError(): GatewayError {
  const advice = 'Send a valid key as "Authorization: Bearer <API_KEY>".'
  return new GatewayError('invalid_api_key', `Invalid API key: unknown or revoked. ${advice}`)
}

/** The 401 for a token of a sign-in that is not valid, or not any more. */
function createEndedError(): GatewayError {
  const message = 'The token is not valid: it has expired, or its sign-in has ended. Sign in again.'
  return new GatewayError('invalid_api_key', message)
}

function isAtOrBelow(path: string, allowed: string): boolean {
  return path.startsWith(allowed) && (path.length === allowed.length || path[allowed.length] === '/')
}

async function throwResolved(error: Promise<GatewayError>): Promise<never> {
  throw await error
}
