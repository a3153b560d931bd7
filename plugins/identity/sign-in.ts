import type { IncomingHttpHeaders } from 'node:http'
import { decodeJwt, jwtVerify } from 'jose'
import type { Logger } from 'pino'
import type { GatewayError, JsonObject } from '../../core/contract/index.ts'
import { formatCookie, readCookie } from '../../core/http/cookies.ts'
import type { Sealer } from '../../core/secrets/sealer.ts'
import { createMemoryCounters } from '../../core/shared-state/memory.ts'
import type { SharedCounters } from '../../core/shared-state/shared-state.ts'
import { readClaim } from './claims.ts'
import { identityError } from './errors.ts'
import { ALGORITHMS, CLOCK_SKEW_SECONDS, createIssuerKeys, type KeySet } from './issuer-keys.ts'
import { createOidcProvider, type OidcProvider, toSignInError } from './oidc-provider.ts'
import { checkReturnTo, publicUrlOf } from './public-url.ts'
import type { ConsoleSettings } from './settings.ts'

/** `console`: an operator signs in. `device`: a person approves a device, which needs no role. */
export type SignInPurpose = 'console' | 'device'

/** Where to send a browser, with the header `set-cookie` that its return needs. */
export interface StartedSignIn {
  readonly url: string
  readonly setCookie: string
}

/** A person whom the identity provider has just authenticated. */
export interface SignedIn {
  readonly issuer: string
  readonly subject: string
  /** Of the ID token, and where that lacks a needed one, of the access token and the user info. */
  readonly claims: JsonObject
  readonly idToken: string | undefined
  /** Undefined if the provider issues none: the session cannot be checked later then. */
  readonly refreshToken: string | undefined
}

export interface CompletedSignIn extends SignedIn {
  readonly purpose: SignInPurpose
  /** The page of the gateway to go to: a complete URL. */
  readonly returnTo: string
  /** The address of the gateway for browsers, without a slash at the end. */
  readonly publicUrl: string
}

/**
 * Signs people in at the identity provider: authorization code flow with PKCE, `state` and `nonce`. Methods
 * throw 503 `identity_unavailable` while the provider cannot be reached. See docs/decisions/console.md, "A
 * sign-in is bound to the browser that began it".
 */
export interface SignIn {
  readonly issuer: string
  /** The address of the gateway for browsers, and its console. Throws 400 if it is not known. */
  addressOf(headers: IncomingHttpHeaders): { readonly publicUrl: string; readonly home: string }
  /** Throws 400 unless `returnTo` is a page of the gateway, such as `/console/#/policies`. */
  begin(purpose: SignInPurpose, returnTo: string, headers: IncomingHttpHeaders): Promise<StartedSignIn>
  /**
   * Completes a sign-in by what the provider has added to the address of the callback. Throws 400 unless it
   * was begun in the same browser, less than ten minutes ago, and is completed for the first time; 403 if the
   * provider refuses.
   */
  complete(query: Readonly<Record<string, string>>, headers: IncomingHttpHeaders): Promise<CompletedSignIn>
  /** Asks whether a person may still sign in. Throws 403 if the provider refuses. */
  refresh(refreshToken: string, subject: string): Promise<SignedIn>
  /** Where to send a browser to sign out at the provider as well; undefined if it does not offer that. */
  endSessionUrl(idToken: string | undefined, headers: IncomingHttpHeaders): Promise<string | undefined>
}

export interface SignInServices {
  readonly clientSecret: string | undefined
  /** Seals the cookie of a sign-in that has begun. */
  readonly sealer: Sealer
  /** Counts completed sign-ins: each is completed once. */
  readonly counters: SharedCounters
  readonly logger: Logger
  readonly signal: AbortSignal
  /** Claims that are looked for elsewhere if the ID token lacks them. */
  readonly neededClaims: readonly string[]
}

const MAX_SECONDS = 600

const DEFAULT_SCOPES = ['openid', 'profile', 'email']

const MAX_SUBJECT_LENGTH = 1000

/** What the browser keeps, sealed, while it is at the provider. */
interface BegunSignIn {
  readonly purpose: SignInPurpose
  readonly returnTo: string
  readonly publicUrl: string
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly expiresAtMs: number
}

interface Tokens {
  readonly access_token: string
  readonly id_token?: string | undefined
  readonly refresh_token?: string | undefined
}

export function createSignIn(settings: ConsoleSettings, services: SignInServices): SignIn {
  const { issuer, client_id: clientId, scopes = DEFAULT_SCOPES } = settings
  const { clientSecret, sealer, counters, logger, signal, neededClaims } = services
  const loadProvider = createOidcProvider({ issuer, clientId, clientSecret, logger, signal })
  const keys = createIssuerKeys({ issuer, jwksUri: undefined, logger, signal })
  const findKey: KeySet = async (...token) => (await keys.find(undefined, ...token)).key
  // Counts while the shared counters are unavailable. The provider refuses a code that was used as well.
  const localCounters = createMemoryCounters()

  /** Throws 400 for the second use. */
  async function useOnce(state: string): Promise<void> {
    const { total } = await Promise.resolve(counters.add(state, 1, MAX_SECONDS)).catch(() =>
      localCounters.add(state, 1, MAX_SECONDS),
    )
    if (total > 1) throw failedError('It was completed already.')
  }

  async function verify(token: string, audience?: string): Promise<JsonObject> {
    const { payload } = await jwtVerify(token, findKey, {
      issuer,
      ...(audience !== undefined && { audience }),
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_SKEW_SECONDS,
      requiredClaims: ['sub', 'exp'],
    })
    // The cast is safe: it was parsed from JSON.
    return payload as JsonObject
  }

  /** Access tokens are for others to read, so what is not a signed token of the same person is ignored. */
  async function readAccessToken(token: string, subject: string): Promise<JsonObject | undefined> {
    if (!token.startsWith('eyJ')) return undefined
    try {
      if (decodeJwt(token).iss !== issuer) return undefined
      const claims = await verify(token)
      return claims.sub === subject ? claims : undefined
    } catch {
      return undefined
    }
  }

  /** `expected`: who it must be; by default whom the ID token names. */
  async function readPerson(
    { client, config }: OidcProvider,
    { id_token: idToken, access_token, refresh_token: refreshToken }: Tokens,
    expected?: string,
  ): Promise<SignedIn> {
    const verified = idToken === undefined ? undefined : await verify(idToken, clientId)
    const subject = verified?.sub ?? expected
    if (typeof subject !== 'string' || subject === '' || subject.length > MAX_SUBJECT_LENGTH)
      throw failedError('The provider names nobody.')
    if (expected !== undefined && subject !== expected) throw failedError('The provider names somebody else.')
    const isComplete = (claims: JsonObject | undefined) =>
      claims !== undefined && neededClaims.every((path) => readClaim(claims, path) !== undefined)
    let claims = verified
    if (!isComplete(claims)) {
      const more = await readAccessToken(access_token, subject)
      if (more !== undefined) claims = { ...more, ...claims }
    }
    if (!isComplete(claims) && config.serverMetadata().userinfo_endpoint !== undefined) {
      const more = await client.fetchUserInfo(config, access_token, subject)
      claims = { ...(more as JsonObject), ...claims }
    }
    if (claims === undefined) throw failedError('The provider says nothing about the person.')
    return { issuer, subject, claims, idToken, refreshToken }
  }

  function addressOf(headers: IncomingHttpHeaders) {
    const publicUrl = publicUrlOf(settings, headers)
    return { publicUrl, home: `${publicUrl}/console/` }
  }

  return {
    issuer,
    addressOf,
    async begin(purpose, returnTo, headers) {
      const publicUrl = publicUrlOf(settings, headers)
      const page = checkReturnTo(returnTo)
      // The first person who comes back does not wait for the keys.
      keys.current()
      const { client, config } = await loadProvider()
      const [state, nonce, verifier] = [
        client.randomState(),
        client.randomNonce(),
        client.randomPKCECodeVerifier(),
      ]
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: callbackOf(publicUrl),
        scope: [...new Set(['openid', ...scopes])].join(' '),
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
      const expiresAtMs = Date.now() + MAX_SECONDS * 1000
      const begun = { purpose, returnTo: page, publicUrl, state, nonce, verifier, expiresAtMs }
      const setCookie = formatCookie({
        ...cookieOf(publicUrl),
        value: sealer.seal(begun),
        path: '/',
        maxAgeSeconds: MAX_SECONDS,
        sameSite: 'Lax',
      })
      return { url: url.href, setCookie }
    },
    async complete(query, headers) {
      const { name } = cookieOf(publicUrlOf(settings, headers))
      const cookie = readCookie(headers.cookie, name)
      // The cast is safe: nobody else can seal.
      const begun = cookie === undefined ? undefined : (sealer.open(cookie) as BegunSignIn | undefined)
      if (begun === undefined) throw failedError('It was not begun in this browser.')
      const { purpose, publicUrl, state, nonce, verifier, expiresAtMs } = begun
      if (Date.now() >= expiresAtMs) throw failedError('It took longer than ten minutes.')
      if (query.state !== state) throw failedError('Another one was begun in this browser since.')
      await useOnce(state)
      const provider = await loadProvider()
      const address = new URL(callbackOf(publicUrl))
      address.search = new URLSearchParams(query).toString()
      try {
        const tokens = await provider.client.authorizationCodeGrant(provider.config, address, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        })
        const person = await readPerson(provider, tokens)
        return { ...person, purpose, publicUrl, returnTo: publicUrl + begun.returnTo }
      } catch (error) {
        throw toSignInError(error, logger)
      }
    },
    async refresh(refreshToken, subject) {
      const provider = await loadProvider()
      try {
        const tokens = await provider.client.refreshTokenGrant(provider.config, refreshToken)
        const { refresh_token = refreshToken } = tokens
        return await readPerson(provider, { ...tokens, refresh_token }, subject)
      } catch (error) {
        throw toSignInError(error, logger)
      }
    },
    async endSessionUrl(idToken, headers) {
      const { client, config } = await loadProvider()
      if (config.serverMetadata().end_session_endpoint === undefined) return undefined
      const url = client.buildEndSessionUrl(config, {
        post_logout_redirect_uri: addressOf(headers).home,
        ...(idToken !== undefined && { id_token_hint: idToken }),
      })
      return url.href
    },
  }
}

function callbackOf(publicUrl: string): string {
  return `${publicUrl}/console/callback`
}

/** With the prefix `__Host-`, no other host of the same domain can set it. */
function cookieOf(publicUrl: string): { readonly name: string; readonly isSecure: boolean } {
  const isSecure = publicUrl.startsWith('https:')
  return { name: `${isSecure ? '__Host-' : ''}signalbox_sign_in`, isSecure }
}

function failedError(problem: string): GatewayError {
  return identityError('sign_in_failed', `The sign-in failed. ${problem} Sign in again.`)
}
