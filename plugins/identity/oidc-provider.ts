import type { Configuration, CustomFetchOptions } from 'openid-client'
import type { Logger } from 'pino'
import { GatewayError } from '../../core/contract/index.ts'
import { TurnQueue } from '../../core/threads/turn-queue.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { identityError } from './errors.ts'
import { fetchText, IdentityDocumentError } from './fetch-json.ts'
import { CLOCK_SKEW_SECONDS, discoverIssuer } from './issuer-keys.ts'

type OpenIdClient = typeof import('openid-client')

/** What the discovery document of the issuer describes. */
export interface OidcProvider {
  readonly client: OpenIdClient
  readonly config: Configuration
}

interface OidcProviderOptions {
  readonly issuer: string
  readonly clientId: string
  /** Undefined: a public client, which PKCE alone protects. */
  readonly clientSecret: string | undefined
  readonly logger: Logger
  readonly signal: AbortSignal
}

/** The document is fetched again in the background after this time. */
const FRESH_MS = 600_000

/** That are sent at a time: when everybody signs in at once, the provider must not be overwhelmed. */
const MAX_REQUESTS = 32

/** Longer than for keys: a code is used up, so a person would have to sign in again. */
const TIMEOUT_MS = 15_000

const MAX_WAITING = 1000

const MAX_WAITING_MS = 60_000

/**
 * Returns a function that resolves with the provider, which is discovered when it is first needed. It rejects
 * with 503 while it never was.
 */
export function createOidcProvider(options: OidcProviderOptions): () => Promise<OidcProvider> {
  const { issuer, logger, signal } = options
  let known: OidcProvider | undefined
  let fetchedAtMs = Number.NEGATIVE_INFINITY
  let fetching: Promise<OidcProvider> | undefined

  async function discover(): Promise<OidcProvider> {
    try {
      known = await configure(options)
      fetchedAtMs = Date.now()
      return known
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error, issuer }, 'identity provider not discovered')
      throw unavailableError()
    } finally {
      fetching = undefined
    }
  }

  return async () => {
    if (known !== undefined && Date.now() - fetchedAtMs < FRESH_MS) return known
    fetching ??= discover()
    if (known === undefined) return fetching
    fetching.catch(() => undefined)
    return known
  }
}

async function configure({ issuer, clientId, clientSecret, signal }: OidcProviderOptions) {
  const [client, metadata] = await Promise.all([import('openid-client'), discoverIssuer(issuer, signal)])
  const { token_endpoint_auth_methods_supported: methods } = metadata
  const usesBasic = !Array.isArray(methods) || methods.includes('client_secret_basic')
  const authenticate = usesBasic ? client.ClientSecretBasic : client.ClientSecretPost
  const config = new client.Configuration(
    { ...metadata, issuer },
    clientId,
    { [client.clockTolerance]: CLOCK_SKEW_SECONDS },
    clientSecret === undefined ? client.None() : authenticate(clientSecret),
  )
  const queue = new TurnQueue(MAX_REQUESTS, MAX_WAITING)
  config[client.customFetch] = async (url, init) => {
    const waiting = AbortSignal.any([signal, AbortSignal.timeout(MAX_WAITING_MS)])
    const response = await queue
      .run(() => fetchFromProvider(url, init, signal), waiting)
      ?.catch((cause: unknown) => {
        if (waiting.aborted && cause === waiting.reason) return undefined
        throw cause
      })
    if (response !== undefined) return response
    throw new IdentityDocumentError(url, 'is asked by too many at once')
  }
  // The schema of the settings admits HTTP only on this machine.
  if (issuer.startsWith('http:')) client.allowInsecureRequests(config)
  return { client, config }
}

/** Rejects for answers that say nothing about the request, so that they are not taken for a refusal. */
async function fetchFromProvider(
  url: string,
  { method, headers, body }: CustomFetchOptions,
  signal: AbortSignal,
): Promise<Response> {
  // Each has a connection of its own: one that was idle may be closed just now, and codes are sent once.
  const own = { ...headers, connection: 'close' }
  // The cast is safe: the library sends forms.
  const init = { method, headers: own, body: (body ?? null) as NonNullable<RequestInit['body']> | null }
  const received = await fetchText(url, init, signal, TIMEOUT_MS)
  const { status } = received
  if (status >= 500 || status === 429) throw new IdentityDocumentError(url, `answered with status ${status}`)
  const hasBody = status !== 204 && status !== 304
  return new Response(hasBody ? received.text : null, { status, headers: received.headers })
}

/**
 * Returns 503 for a provider that could not be reached, 403 if it refused, and 400 for an answer that is not
 * valid. Errors of the library may hold tokens: only their codes are logged and shown.
 */
export function toSignInError(error: unknown, logger: Logger): GatewayError {
  if (GatewayError.isInstance(error)) return error
  const cause = error instanceof Error ? error.cause : undefined
  const unavailable = [error, cause].find((each) => each instanceof IdentityDocumentError)
  if (unavailable !== undefined) {
    logger.warn({ reason: errorMessage(unavailable) }, 'identity provider unavailable')
    return unavailableError()
  }
  const { code = 'unknown', error: said } = error as { readonly code?: unknown; readonly error?: unknown }
  const refusal = typeof said === 'string' && /^[a-z_]{1,50}$/.test(said) ? said : undefined
  logger.warn({ code, ...(refusal && { refusal }) }, 'sign-in refused')
  if (refusal !== undefined) {
    const message = `The identity provider refused the sign-in (${refusal}).`
    return identityError('sign_in_refused', message)
  }
  const message = 'The sign-in failed. The answer of the identity provider is not valid. Sign in again.'
  return identityError('sign_in_failed', message)
}

function unavailableError(): GatewayError {
  const message = 'The identity provider cannot be reached. Try again later.'
  return identityError('identity_unavailable', message, { retryAfter: 5 })
}
