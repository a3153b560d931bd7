import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose'
import type { Logger } from 'pino'
import type { JsonObject } from '../../core/contract/index.ts'
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

/**
 * Returns a function that finds the key of a token among those that its issuer publishes. They are discovered
 * when the first token arrives, kept, and fetched again when a token names an unknown one. Rejects with 503
 * while there are none.
 */
export function createIssuerKeys(options: IssuerKeysOptions): JWTVerifyGetKey {
  const { issuer, jwksUri, logger, signal, now = Date.now } = options
  let keys: JWTVerifyGetKey | undefined
  let fetchedAtMs = Number.NEGATIVE_INFINITY
  let triedAtMs = Number.NEGATIVE_INFINITY
  let fetching: Promise<void> | undefined

  async function fetchKeys(): Promise<void> {
    const url = jwksUri ?? jwksUriOf(await discoverIssuer(issuer, signal))
    keys = toKeySet(url, await fetchJson(url, signal))
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

  function current(): JWTVerifyGetKey {
    if (keys !== undefined && now() - fetchedAtMs < STALE_MS) return keys
    const message = 'The keys of the identity provider cannot be fetched, so the token cannot be checked.'
    throw identityError('identity_unavailable', message, { retryAfter: RETRY_MS / 1000 })
  }

  return async (header, token) => {
    const isFresh = now() - fetchedAtMs < FRESH_MS
    if (keys === undefined) await (fetching ?? (mayRetry() ? refresh() : undefined))
    else if (!isFresh && mayRetry()) {
      const refreshed = refresh()
      if (now() - fetchedAtMs >= STALE_MS) await refreshed
    }
    try {
      return await current()(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !(fetching || mayRetry())) throw error
      await (fetching ?? refresh())
      return current()(header, token)
    }
  }
}

/** Returns the discovery document of an issuer. Throws unless it is the issuer's own. */
export async function discoverIssuer(issuer: string, signal: AbortSignal): Promise<JsonObject> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const document = await fetchJson(url, signal)
  if (document.issuer === issuer) return document
  throw new IdentityDocumentError(url, 'names another issuer')
}

/** Throws unless the discovery document says where the keys are. */
export function jwksUriOf({ issuer, jwks_uri }: JsonObject): string {
  if (typeof jwks_uri === 'string' && URL.canParse(jwks_uri)) return jwks_uri
  throw new IdentityDocumentError(String(issuer), 'has no jwks_uri in its discovery document')
}

function toKeySet(url: string, { keys }: JsonObject): JWTVerifyGetKey {
  if (!Array.isArray(keys)) throw new IdentityDocumentError(url, 'has no list of keys')
  if (keys.length > MAX_KEYS) throw new IdentityDocumentError(url, `has more than ${MAX_KEYS} keys`)
  return createLocalJWKSet({ keys })
}
