import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose'
import type { Logger } from 'pino'
import type { Account, CallerIdentity, JsonObject } from '../../core/contract/index.ts'
import { createBoundedCache } from '../../core/util/bounded-cache.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { identityId } from '../../projections/events/identities.ts'
import type { User } from '../../projections/events/users.ts'
import { type CallerTokens, toIdentityAccount } from '../auth/index.ts'
import { invalidError, readClaimed } from './claimed.ts'
import { hasClaim } from './claims.ts'
import { identityError } from './errors.ts'
import { ALGORITHMS, CLOCK_SKEW_SECONDS, createIssuerKeys } from './issuer-keys.ts'
import { createKnownUsers, type KnownUserServices } from './known-users.ts'
import type { CallerSettings } from './settings.ts'

/** Ten megabytes. Tokens that were used longest ago are verified again. */
const MAX_KNOWN_TOKENS = 20_000

interface KnownToken {
  readonly userId: number
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

  function remember(hash: string, userId: number, caller: CallerIdentity): Account {
    const user = accounts.user(userId)
    if (user === undefined) throw deletedError()
    const account = toIdentityAccount(user, caller)
    const identity = identityId('subject', caller.issuer, caller.subject)
    known.set(hash, { userId, identity, caller, user, account })
    return account
  }

  async function verify(token: string, hash: string, requestId: string): Promise<Account> {
    const issuer = issuers.get(issuerOf(token) ?? '')
    if (issuer === undefined) throw invalidError('Its issuer is not one of the settings.')
    const claims = await checkSignature(token, issuer)
    const { row, claimed } = readToken(claims, issuer.rows)
    const permissions = {
      createsUsers: row.user?.create ?? true,
      createsGroups: row.groups?.create ?? false,
    }
    const userId = await syncUser(claimed, permissions, requestId)
    const expiresAtMs = ((claims.exp ?? 0) + CLOCK_SKEW_SECONDS) * 1000
    return remember(hash, userId, { issuer: claimed.issuer, subject: claimed.subject, expiresAtMs })
  }

  return {
    find(hash) {
      const entry = known.get(hash)
      if (entry === undefined) return undefined
      checkExpiry(entry.caller)
      const user = accounts.user(entry.userId)
      if (user === undefined || identities.linkedTo(entry.identity) !== entry.userId) {
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
    verify(token, hash, requestId) {
      const pending = verifying.get(hash)
      if (pending !== undefined) return pending
      const verified = verify(token, hash, requestId).finally(() => verifying.delete(hash))
      verifying.set(hash, verified)
      return verified
    },
    confirm({ userId, identity }) {
      if (identity !== undefined) checkExpiry(identity)
      if (accounts.user(userId) === undefined) throw deletedError()
    },
  }
}

interface Issuer {
  readonly rows: readonly CallerSettings[]
  readonly keys: ReturnType<typeof createIssuerKeys>
}

function createIssuers(
  settings: readonly CallerSettings[],
  logger: Logger,
  signal: AbortSignal,
): ReadonlyMap<string, Issuer> {
  const issuers = new Map<string, Issuer>()
  for (const { issuer } of settings) {
    const rows = settings.filter((row) => row.issuer === issuer)
    const jwksUri = rows.find(({ jwks_uri }) => jwks_uri !== undefined)?.jwks_uri
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

async function checkSignature(token: string, { rows, keys }: Issuer): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer: rows.map(({ issuer }) => issuer),
      audience: rows.flatMap(({ audience }) => audience),
      algorithms: rows.flatMap(({ algorithms = ALGORITHMS }) => algorithms),
      clockTolerance: CLOCK_SKEW_SECONDS,
      requiredClaims: ['exp'],
    })
    return payload
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw expiredError()
    if (error instanceof errors.JOSEError) throw invalidError(describe(error))
    throw error
  }
}

function describe(error: errors.JOSEError): string {
  if (error instanceof errors.JWTClaimValidationFailed) return `Its claim ${error.claim} is wrong or missing.`
  if (error instanceof errors.JWKSNoMatchingKey) return 'Its issuer has no such key.'
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'It does not say which key signed it (kid).'
  if (error instanceof errors.JOSEAlgNotAllowed) return 'Its algorithm is not allowed.'
  return 'Its signature is wrong.'
}

/** Returns what a verified token says, by the first row that it fulfils. */
function readToken(claims: JWTPayload, rows: readonly CallerSettings[]) {
  const audiences = rows.filter(({ audience }) =>
    [audience].flat().some((name) => [claims.aud].flat().includes(name)),
  )
  // The cast is safe: it was parsed from JSON.
  const json = claims as JsonObject
  const row = audiences.find(({ require = {} }) =>
    Object.entries(require).every(([path, value]) => hasClaim(json, path, value)),
  )
  if (row === undefined) {
    const names = audiences.flatMap(({ require = {} }) => Object.keys(require))
    throw invalidError(`It does not have the required values of ${[...new Set(names)].join(', ')}.`)
  }
  return { row, claimed: readClaimed(json, row) }
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
