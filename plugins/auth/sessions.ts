import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type Actor, GatewayError, keyActor, type MaybePromise } from '../../core/contract/index.ts'
import { ROOT_ACTOR } from '../../core/event-log/actor.ts'
import { readCookie } from '../../core/http/cookies.ts'
import { isEqualText } from '../../core/util/equal-text.ts'
import { ACCESS_STREAM } from '../../projections/events/access.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { idOfHolder, type ResolvedHolder, type ResolveHolder, type SessionHolder } from './session-holders.ts'
import type { SessionSecret } from './session-secret.ts'

/** A sign-in to the console, proven by a cookie. */
export interface Session {
  /** Tells nothing about the cookie. */
  readonly id: string
  readonly holder: SessionHolder
  /** Changes must repeat it in the header `x-csrf-token`. */
  readonly csrfToken: string
  readonly expiresAtMs: number
}

/** A session and the value of its cookie. */
export interface StartedSession extends Session {
  readonly cookie: string
}

/** Checks sessions of operators whom an identity provider has signed in. */
export interface SessionRenewal {
  /** Throws 401 if the person may no longer sign in, and 503 if that has been unknown for too long. */
  confirm(session: Session, requestId: string): MaybePromise<void>
  /** Whether the provider was asked recently. */
  isCurrent(id: string): boolean
  end(id: string): Promise<void>
}

/**
 * Sessions of the console. Only their ends are stored. See docs/decisions/console.md, "A session is a signed
 * cookie bound to its key" and "Changes repeat a token of the session".
 */
export interface Sessions {
  /** Ends after twelve hours, or `lifetimeMs`. */
  start(holder: SessionHolder, lifetimeMs?: number): StartedSession
  /** The session of the request's cookie; undefined if it has none, or if the session has ended. */
  find(headers: IncomingHttpHeaders): Session | undefined
  /** Lets a provider be asked about sessions of operators whom it has signed in. Without it, they end. */
  renewBy(renewal: SessionRenewal): void
  /** As `find`, without those that the identity provider has ended, or cannot be asked about for long. */
  findConfirmed(headers: IncomingHttpHeaders, requestId: string): Promise<Session | undefined>
  /** Throws 401 if the identity provider has ended the session, and 503 if that has long been unknown. */
  confirm(session: Session, requestId: string): MaybePromise<void>
  /** Whether the session of a request that goes on for long has not ended. */
  isCurrent(headers: IncomingHttpHeaders): boolean
  /**
   * As `find`, for requests that the session authenticates. Throws 401 if the session has ended, and 403 if a
   * change does not have the token of the session.
   */
  authenticate(request: SessionRequest): Session | undefined
  /**
   * Lets users send requests to an inference endpoint with their sessions. Without it, sessions are not
   * accepted for inference. See docs/decisions/console.md, "Sessions of users send chats, and nothing else
   * that costs money".
   */
  allowInference(endpoint: string): void
  /** Only `POST`, which needs the token of the session. */
  isInferenceAllowed(request: { readonly method: string; readonly endpoint?: string }): boolean
  /** Who signed in with the request's cookie, also after the session has ended; undefined if it is forged. */
  actorOf(headers: IncomingHttpHeaders): Actor | undefined
  /** Ends the session of the request's cookie on all processes, if it has one; see `authenticate`. */
  end(request: SessionRequest, requestId: string): Promise<void>
}

interface SessionRequest {
  readonly method: string
  readonly headers: IncomingHttpHeaders
}

interface SessionServices {
  readonly secret: SessionSecret
  readonly resolveHolder: ResolveHolder
  readonly operators: Pick<OperatorAccounts, 'isSessionEnded'>
  readonly writer: EventWriter
  /** Whether operators and users sign in with keys. The ADMIN_KEY is always one. */
  readonly allowsKeys: boolean
}

export const SESSION_COOKIE = 'signalbox_session'

export const SESSION_HOURS = 12

/** A browser keeps the cookie for longer, so that it is told, and recorded, that the session has ended. */
export const COOKIE_HOURS = 36

export function createSessions(services: SessionServices): Sessions {
  const { secret, resolveHolder, operators, writer, allowsKeys } = services
  let renewal: SessionRenewal | undefined
  const inferenceEndpoints = new Set<string | undefined>()

  function resolve(type: string, id: string): ResolvedHolder | undefined {
    const resolved = resolveHolder(type, id)
    const isAllowed = allowsKeys || type === 'root' || (resolved && isExternal(resolved))
    return isAllowed ? resolved : undefined
  }

  function find(headers: IncomingHttpHeaders): Session | undefined {
    const session = readSession(headers)
    if (session === undefined || Date.now() >= session.expiresAtMs) return undefined
    return operators.isSessionEnded(session.id) ? undefined : session
  }

  /** The session of a cookie whose signature is valid, also if it has ended. */
  function readSession(headers: IncomingHttpHeaders): StartedSession | undefined {
    const cookie = readCookie(headers.cookie, SESSION_COOKIE)
    const key = cookie && secret.read()
    if (!cookie || !key) return undefined
    const [type = '', id = '', expiresAt = '', nonce = '', signature = '', ...more] = cookie.split('~')
    // Another spelling of the cookie of an ended session would be another session.
    if (more.length > 0) return undefined
    const resolved = resolve(type, id)
    if (resolved === undefined) return undefined
    const expected = sign(key, 'session', type, id, expiresAt, nonce, resolved.binding)
    if (!isEqualText(signature, expected)) return undefined
    const csrfToken = sign(key, 'csrf', cookie)
    const holder = resolved.holder
    return { id: idOfSession(cookie), cookie, holder, csrfToken, expiresAtMs: Number(expiresAt) }
  }

  function authenticate({ method, headers }: SessionRequest): Session | undefined {
    if (readCookie(headers.cookie, SESSION_COOKIE) === undefined) return undefined
    const session = find(headers)
    if (session === undefined) throw createEndedError()
    const token = headers['x-csrf-token']
    if (method === 'GET' || method === 'HEAD') return session
    if (typeof token === 'string' && isEqualText(token, session.csrfToken)) return session
    const message =
      'Changes with a session require its token in the header x-csrf-token. GET /console/session ' +
      'returns it.'
    throw new GatewayError('csrf_token_invalid', message)
  }

  function confirm(session: Session, requestId: string): MaybePromise<void> {
    if (!isExternal(session)) return undefined
    if (renewal === undefined) throw createEndedError()
    return renewal.confirm(session, requestId)
  }

  return {
    start(holder, lifetimeMs = SESSION_HOURS * 3_600_000) {
      const key = secret.readOrCreate()
      const id = idOfHolder(holder)
      const resolved = resolve(holder.type, id)
      if (resolved === undefined) throw createEndedError()
      const expiresAtMs = Date.now() + lifetimeMs
      // Sessions that start in the same millisecond end separately.
      const nonce = randomBytes(9).toString('base64url')
      const signature = sign(key, 'session', holder.type, id, String(expiresAtMs), nonce, resolved.binding)
      const cookie = [holder.type, id, expiresAtMs, nonce, signature].join('~')
      const csrfToken = sign(key, 'csrf', cookie)
      return { id: idOfSession(cookie), cookie, holder, csrfToken, expiresAtMs }
    },
    find,
    renewBy(given) {
      renewal = given
    },
    async findConfirmed(headers, requestId) {
      const session = find(headers)
      try {
        if (session !== undefined) await confirm(session, requestId)
        return session
      } catch (error) {
        if (GatewayError.isInstance(error)) return undefined
        throw error
      }
    },
    confirm,
    isCurrent(headers) {
      const session = find(headers)
      return session !== undefined && (!isExternal(session) || renewal?.isCurrent(session.id) === true)
    },
    authenticate,
    allowInference(endpoint) {
      inferenceEndpoints.add(endpoint)
    },
    isInferenceAllowed: ({ method, endpoint }) => method === 'POST' && inferenceEndpoints.has(endpoint),
    actorOf(headers) {
      const session = readSession(headers)
      return session && actorOfHolder(session.holder)
    },
    async end(request, requestId) {
      const cookie = readCookie(request.headers.cookie, SESSION_COOKIE)
      // A session that has ended already needs no token.
      const session = find(request.headers) && authenticate(request)
      if (cookie === undefined || session === undefined) return
      const expiresAt = new Date(session.expiresAtMs).toISOString()
      const data = { session: session.id, expiresAt }
      const decide = () => [{ type: 'SessionEnded' as const, data }]
      const author = { actor: actorOfHolder(session.holder), requestId }
      await writer.write({ stream: ACCESS_STREAM, decide, isRecord: true }, author)
      if (isExternal(session)) await renewal?.end(session.id)
    },
  }
}

function isExternal({ holder }: Pick<Session, 'holder'>): boolean {
  return holder.type === 'operator' && holder.operator.external !== undefined
}

export function actorOfHolder(holder: SessionHolder): Actor {
  if (holder.type === 'root') return ROOT_ACTOR
  if (holder.type === 'user') return keyActor(holder.account)
  const { id, name } = holder.operator
  return { type: 'operator', id, name }
}

/** Tells nothing about the cookie. */
function idOfSession(cookie: string): string {
  return createHash('sha256').update(cookie).digest('hex').slice(0, 32)
}

/** No part contains a line break, which headers cannot. */
function sign(key: Buffer, ...parts: readonly string[]): string {
  return createHmac('sha256', key).update(parts.join('\n')).digest('base64url')
}

export function createEndedError(): GatewayError {
  return new GatewayError('session_ended', 'The session has ended, or its key has changed. Sign in again.')
}
