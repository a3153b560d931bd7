import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose'
import type { Logger } from 'pino'
import {
  type Account,
  type CallerIdentity,
  GatewayError,
  type JsonObject,
  type WaitingTime,
} from '../../core/contract/index.ts'
import { createBoundedCache } from '../../core/util/bounded-cache.ts'
import { whileWaiting } from '../../core/util/while-waiting.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { identityId } from '../../projections/events/identities.ts'
import type { User } from '../../projections/events/users.ts'
import { type CallerTokens, type TokenRequest, toIdentityAccount } from '../auth/index.ts'
import { hasRequired, invalidError, readClaimed } from './claimed.ts'
import { identityError } from './errors.ts'
import {
  ALGORITHMS,
  CLOCK_SKEW_SECONDS,
  createIssuerKeys,
  type IssuerKeys,
  type KeySet,
} from './issuer-keys.ts'
import { type Claimed, createKnownUsers, type KnownUserServices } from './known-users.ts'
import type { CallerSettings } from './settings.ts'

/** Ten megabytes. Tokens that were used longest ago are verified again. */
const MAX_KNOWN_TOKENS = 20_000

interface KnownToken {
  readonly userId: number
  readonly issuerKeys: IssuerKeys
  /** With which of the keys the token was verified. */
  readonly keySet: KeySet
  /** The `identityId` of the subject. */
  readonly identity: string
  readonly caller: CallerIdentity
  /** The user that `account` was made of. */
  user: User
  account: Account
}

interface CallerTokenServices extends KnownUserServices {
  readonly accounts: Pick<Accounts, 'user'>
  readonly logger: Logger
  readonly signal: AbortSignal
}

/** Verifies tokens of identity providers, and keeps the account of each until it expires. */
export function createCallerTokens(
  settings: readonly CallerSettings[],
  services: CallerTokenServices,
): CallerTokens {
  const { accounts, identities, logger, signal } = services
  const syncUser = createKnownUsers(services)
  const issuers = createIssuers(settings, logger, signal)
  const known = createBoundedCache<string, KnownToken>(MAX_KNOWN_TOKENS)
  const verifying = new Map<string, Promise<Account>>()

  async function verify(token: string, hash: string, request: TokenRequest): Promise<Account> {
    const issuer = issuers.get(issuerOf(token) ?? '')
    if (issuer === undefined) throw invalidError('Its issuer is not one of the settings.')
    const { payload, algorithm, keySet } = await checkSignature(token, issuer, request.client.waiting)
    const claimed = readToken(payload, algorithm, issuer.rows)
    const userId = await syncUser(claimed, request.requestId)
    const user = accounts.user(userId)
    if (user === undefined) throw deletedError()
    const expiresAtMs = ((payload.exp ?? 0) + CLOCK_SKEW_SECONDS) * 1000
    const caller = { issuer: claimed.issuer, subject: claimed.subject, expiresAtMs }
    const account = toIdentityAccount(user, caller)
    const identity = identityId('subject', claimed.issuer, claimed.subject)
    known.set(hash, { userId, identity, caller, user, account, keySet, issuerKeys: issuer.keys })
    return account
  }

  return {
    find(hash) {
      const entry = known.get(hash)
      if (entry === undefined) return undefined
      checkExpiry(entry.caller)
      const user = accounts.user(entry.userId)
      const isLinked = user !== undefined && identities.linkedTo(entry.identity) === entry.userId
      if (!isLinked || entry.issuerKeys.current() !== entry.keySet) {
        known.delete(hash)
        return undefined
      }
      if (user !== entry.user) {
        entry.user = user
        entry.account = toIdentityAccount(user, entry.caller)
      }
      return entry.account
    },
    isToken: (text) => text.startsWith('eyJ') && issuerOf(text) !== undefined,
    verify(token, hash, request) {
      const pending = verifying.get(hash)
      if (pending !== undefined) return whileWaiting(request.client.waiting, pending)
      const verified = verify(token, hash, request).finally(() => verifying.delete(hash))
      verifying.set(hash, verified)
      return verified
    },
    confirm({ userId, identity }) {
      if (identity !== undefined) checkExpiry(identity)
      const { issuer, subject } = identities.identityOf(userId) ?? {}
      if (accounts.user(userId) === undefined || subject !== identity?.subject || issuer !== identity?.issuer)
        throw deletedError()
    },
  }
}

interface Issuer {
  readonly rows: readonly CallerSettings[]
  readonly keys: IssuerKeys
}

function createIssuers(
  settings: readonly CallerSettings[],
  logger: Logger,
  signal: AbortSignal,
): ReadonlyMap<string, Issuer> {
  const issuers = new Map<string, Issuer>()
  for (const issuer of new Set(settings.map((row) => row.issuer))) {
    const rows = settings.filter((row) => row.issuer === issuer)
    const jwksUri = rows[0]?.jwks_uri
    issuers.set(issuer, { rows, keys: createIssuerKeys({ issuer, jwksUri, logger, signal }) })
  }
  return issuers
}

/** The `iss` of a text that is a JWT. Nothing of it was verified. */
function issuerOf(text: string): string | undefined {
  try {
    return decodeJwt(text).iss
  } catch {
    return undefined
  }
}

async function checkSignature(token: string, { rows, keys }: Issuer, waiting: WaitingTime | undefined) {
  let keySet: KeySet | undefined
  const findKey: KeySet = async (...parts) => {
    const found = await keys.find(waiting, ...parts)
    keySet = found.keySet
    return found.key
  }
  try {
    const { payload, protectedHeader } = await jwtVerify(token, findKey, {
      issuer: rows.map(({ issuer }) => issuer),
      audience: rows.flatMap(({ audience }) => audience),
      algorithms: rows.flatMap(({ algorithms = ALGORITHMS }) => algorithms),
      clockTolerance: CLOCK_SKEW_SECONDS,
      requiredClaims: ['exp'],
    })
    if (keySet === undefined) throw new Error('a token was verified without a key')
    return { payload, algorithm: protectedHeader.alg, keySet }
  } catch (error) {
    if (GatewayError.isInstance(error)) throw error
    if (error instanceof errors.JWTExpired) throw expiredError()
    throw invalidError(describe(error))
  }
}

function describe(error: unknown): string {
  if (error instanceof errors.JWTClaimValidationFailed) return `Its claim ${error.claim} is wrong or missing.`
  if (error instanceof errors.JWKSNoMatchingKey) return 'Its issuer has no such key.'
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'It does not say which key signed it (kid).'
  if (error instanceof errors.JOSEAlgNotAllowed) return 'Its algorithm is not allowed.'
  const isWrong = error instanceof errors.JOSEError && !(error instanceof errors.JWKSInvalid)
  return isWrong ? 'Its signature is wrong.' : 'The key that its issuer publishes for it cannot be used.'
}

/** Returns what a verified token says, by the first row that it fulfils. */
function readToken(claims: JWTPayload, algorithm: string, rows: readonly CallerSettings[]): Claimed {
  const audiences = rows.filter(({ audience, algorithms = ALGORITHMS }) => {
    const isOfRow = [audience].flat().some((name) => [claims.aud].flat().includes(name))
    return isOfRow && algorithms.includes(algorithm)
  })
  if (audiences.length === 0) throw invalidError('Its algorithm is not allowed.')
  // The cast is safe: it was parsed from JSON.
  const json = claims as JsonObject
  const row = audiences.find((candidate) => hasRequired(json, candidate))
  if (row === undefined) {
    const names = audiences.flatMap(({ require = {} }) => Object.keys(require))
    throw invalidError(`It does not have the required values of ${[...new Set(names)].join(', ')}.`)
  }
  return readClaimed(json, row)
}

function checkExpiry({ expiresAtMs }: CallerIdentity): void {
  if (Date.now() >= expiresAtMs) throw expiredError()
}

function expiredError() {
  return identityError('token_expired', 'The token has expired. Sign in again, or send a new one.')
}

function deletedError() {
  return identityError('token_invalid', 'The token is not valid here. Its user was deleted.')
}
