import { isDeepStrictEqual } from 'node:util'
import { createLocalJWKSet, errors, type JWK, type JWTVerifyGetKey } from 'jose'
import type { Logger } from 'pino'
import { isJsonObject, type JsonObject, type WaitingTime } from '../../core/contract/index.ts'
import { whileWaiting } from '../../core/util/while-waiting.ts'
import { identityError } from './errors.ts'
import { fetchJson, IdentityDocumentError } from './fetch-json.ts'

/** Without `none` and HMAC, whatever the settings say. */
export const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]

/** By how much clocks may differ. */
export const CLOCK_SKEW_SECONDS = 60

/** Keys are fetched again in the background after this time. */
const FRESH_MS = 600_000

/** How long keys serve that cannot be fetched again. */
const STALE_MS = 86_400_000

/** A token with an unknown key, or a failure, has the keys fetched again at most this often. */
const RETRY_MS = 60_000

const MAX_KEYS = 1000

interface IssuerKeysOptions {
  readonly issuer: string
  /** Default: what the discovery document of the issuer says. */
  readonly jwksUri: string | undefined
  readonly logger: Logger
  readonly signal: AbortSignal
  readonly now?: () => number
}

/** The keys of an issuer, as it published them at one time. */
export type KeySet = JWTVerifyGetKey

interface FoundKey {
  readonly key: Awaited<ReturnType<KeySet>>
  /** Where it was found. */
  readonly keySet: KeySet
}

export interface IssuerKeys {
  /** Finds the key of a token. Rejects with 503 while there are no keys. */
  find(waiting: WaitingTime | undefined, ...token: Parameters<KeySet>): Promise<FoundKey>
  /**
   * The keys that serve now: the same object until the issuer publishes other ones. Has them fetched again
   * in the background. Undefined while there are none.
   */
  current(): KeySet | undefined
}

/**
 * Discovers the keys of an issuer when the first token arrives, keeps them, and fetches them again when they
 * are used later, and when a token names an unknown one.
 */
export function createIssuerKeys(options: IssuerKeysOptions): IssuerKeys {
  const { issuer, jwksUri, logger, signal, now = Date.now } = options
  let published: unknown
  let keySet: KeySet | undefined
  let fetchedAtMs = Number.NEGATIVE_INFINITY
  let triedAtMs = Number.NEGATIVE_INFINITY
  let fetching: Promise<void> | undefined

  async function fetchKeys(): Promise<void> {
    const url = jwksUri ?? jwksUriOf(await discoverIssuer(issuer, signal))
    const { keys } = await fetchJson(url, signal)
    if (keySet === undefined || !isDeepStrictEqual(keys, published)) keySet = toKeySet(url, keys)
    published = keys
    fetchedAtMs = now()
  }

  /** Never rejects: old keys serve on. */
  function refresh(): Promise<void> {
    triedAtMs = now()
    fetching ??= fetchKeys()
      .catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ err: error, issuer }, 'keys of an issuer were not fetched')
      })
      .finally(() => {
        fetching = undefined
      })
    return fetching
  }

  const mayRetry = () => now() - triedAtMs >= RETRY_MS

  function current(): KeySet | undefined {
    const ageMs = now() - fetchedAtMs
    if (ageMs >= FRESH_MS && mayRetry()) void refresh()
    return ageMs < STALE_MS ? keySet : undefined
  }

  async function findNow(...token: Parameters<KeySet>): Promise<FoundKey> {
    const keySet = current()
    if (keySet !== undefined) return { key: await keySet(...token), keySet }
    const message = 'The keys of the identity provider cannot be fetched, so the token cannot be checked.'
    throw identityError('identity_unavailable', message, { retryAfter: RETRY_MS / 1000 })
  }

  return {
    current,
    async find(waiting, ...token) {
      if (current() === undefined && fetching) await whileWaiting(waiting, fetching)
      try {
        return await findNow(...token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || !(fetching || mayRetry())) throw error
        await whileWaiting(waiting, fetching ?? refresh())
        return findNow(...token)
      }
    },
  }
}

/** Returns the discovery document of an issuer. Throws unless it is the issuer's own. */
export async function discoverIssuer(issuer: string, signal: AbortSignal): Promise<JsonObject> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const document = await fetchJson(url, signal)
  if (document.issuer === issuer) return document
  throw new IdentityDocumentError(url, 'names another issuer')
}

/** Throws unless the discovery document says where the keys are, and as securely as it was had itself. */
export function jwksUriOf({ issuer, jwks_uri }: JsonObject): string {
  if (typeof jwks_uri !== 'string' || !URL.canParse(jwks_uri))
    throw new IdentityDocumentError(String(issuer), 'has no jwks_uri in its discovery document')
  if (String(issuer).startsWith('https:') && new URL(jwks_uri).protocol !== 'https:')
    throw new IdentityDocumentError(String(issuer), 'has a jwks_uri without TLS in its discovery document')
  return jwks_uri
}

function toKeySet(url: string, keys: unknown): KeySet {
  if (!Array.isArray(keys)) throw new IdentityDocumentError(url, 'has no list of keys')
  if (keys.length > MAX_KEYS) throw new IdentityDocumentError(url, `has more than ${MAX_KEYS} keys`)
  return createLocalJWKSet({ keys: keys.filter(isJsonObject) as JWK[] })
}
