import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import {
  type Endpoint,
  type EndpointResponse,
  endpoint,
  GatewayError,
  publicAccess,
  Type,
} from '../../core/contract/index.ts'
import { formatCookie } from '../../core/http/cookies.ts'
import type { OperatorAccount } from '../../projections/events/operators.ts'
import { type Access, COOKIE_HOURS, SESSION_COOKIE, type Sessions } from '../auth/index.ts'
import { isLeftOut } from './claims.ts'
import { identityError } from './errors.ts'
import { type ExternalSessions, MAX_UNCHECKED_MS } from './external-sessions.ts'
import { escapeHtml, htmlPage } from './html-page.ts'
import type { ConsoleSettings } from './settings.ts'
import type { CompletedSignIn, SignedIn, SignIn, SignInPurpose } from './sign-in.ts'

interface SignInEndpointServices {
  readonly signIn: SignIn
  readonly roles: ConsoleSettings['roles']
  readonly syncOperator: (person: SignedIn, requestId: string) => Promise<OperatorAccount | undefined>
  readonly sessions: Sessions
  readonly authFailures: Access['authFailures']
  readonly externalSessions: ExternalSessions
  readonly completeDevice: Complete | undefined
}

export type Complete = (completed: CompletedSignIn, requestId: string) => Promise<EndpointResponse>

const common = { method: 'GET', access: publicAccess, tags: ['console'], isUnlisted: true } as const

const COUNTED: readonly string[] = ['sign_in_failed', 'sign_in_refused']

const responses = {
  303: {
    description: 'Where to go on.',
    text: 'text/plain',
    headers: { location: Type.String({ description: 'A page of the identity provider or of the gateway.' }) },
  },
}

/** Creates the pages that sign operators in and out at the identity provider. */
export function createSignInEndpoints(services: SignInEndpointServices): readonly Endpoint[] {
  const { signIn, roles, syncOperator, sessions, externalSessions, authFailures, completeDevice } = services

  async function startSession(completed: CompletedSignIn, requestId: string): Promise<EndpointResponse> {
    const operator = await syncOperator(completed, requestId)
    if (operator === undefined) throw roleMissingError(completed, roles.claim)
    const lifetimeMs = completed.refreshToken === undefined ? MAX_UNCHECKED_MS : undefined
    const { id, cookie } = sessions.start({ type: 'operator', operator }, lifetimeMs)
    await externalSessions.keep(id, completed)
    const maxAgeSeconds = COOKIE_HOURS * 3600
    const setCookie = formatSession(cookie, completed.publicUrl, maxAgeSeconds)
    return redirect(completed.returnTo, setCookie)
  }

  /** What follows on a sign-in, by its purpose. */
  const completions: Record<SignInPurpose, Complete | undefined> = {
    console: startSession,
    device: completeDevice,
  }

  /** Each asks the provider, so they are limited by address, as invalid keys are. */
  async function countFailure(error: unknown, req: IncomingMessage): Promise<never> {
    const isFailure = GatewayError.isInstance(error) && COUNTED.includes(error.code)
    throw isFailure ? await authFailures.recordFailure('admin', req, error) : error
  }

  async function signOut(headers: IncomingHttpHeaders, requestId: string): Promise<EndpointResponse> {
    const { publicUrl, home } = signIn.addressOf(headers)
    const session = isFromOwnPage(headers) ? sessions.find(headers) : undefined
    if (session === undefined) return redirect(home)
    const idToken = await externalSessions.idTokenOf(session.id).catch(() => undefined)
    await sessions.end({ method: 'GET', headers }, requestId)
    const { holder } = session
    const isExternal = holder.type === 'operator' && holder.operator.external !== undefined
    const there = isExternal ? await signIn.endSessionUrl(idToken, headers).catch(() => undefined) : undefined
    return redirect(there ?? home, formatSession('', publicUrl, 0))
  }

  return [
    endpoint({
      ...common,
      path: '/console/login',
      operationId: 'beginSignIn',
      summary: 'Sends a browser to the identity provider.',
      query: {
        return_to: Type.Optional(
          Type.String({
            maxLength: 1000,
            description: 'The page to show afterwards.',
            examples: ['/console/'],
          }),
        ),
      },
      responses,
      errors: ['identity_unavailable', 'sign_in_failed'],
      handle: ({ query, headers }) =>
        orPage(async () => {
          const { url, setCookie } = await signIn.begin('console', query.return_to ?? '/console/', headers)
          return redirect(url, setCookie)
        }),
    }),
    endpoint({
      ...common,
      path: '/console/callback',
      operationId: 'completeSignIn',
      summary: 'Completes a sign-in, to which the identity provider sends the browser back.',
      acceptsAnyQuery: true,
      responses,
      errors: ['identity_unavailable', 'rate_limit_exceeded', 'role_missing', ...COUNTED],
      handle: ({ query, headers, requestId, req }) =>
        orPage(async () => {
          const limitError = authFailures.limitErrorFor('admin', req)
          if (limitError !== undefined) throw limitError
          // The cast is safe: without a schema, all parameters are texts.
          const parameters = query as Readonly<Record<string, string>>
          const completed = await signIn
            .complete(parameters, headers)
            .catch((error) => countFailure(error, req))
          const complete = completions[completed.purpose]
          if (complete === undefined) throw new Error(`no sign-in is for ${completed.purpose}`)
          return complete(completed, requestId)
        }),
    }),
    endpoint({
      ...common,
      path: '/console/logout',
      operationId: 'signOut',
      summary: 'Ends the session of the console, and that at the identity provider if it offers that.',
      responses,
      handle: ({ headers, requestId }) => orPage(() => signOut(headers, requestId)),
    }),
  ]
}

/** The cookie of a session is not sent from other sites, but from other hosts of the same domain. */
function isFromOwnPage(headers: IncomingHttpHeaders): boolean {
  const { 'sec-fetch-site': site = 'none' } = headers
  return site === 'same-origin' || site === 'none'
}

function formatSession(value: string, publicUrl: string, maxAgeSeconds: number): string {
  const { pathname, protocol } = new URL(publicUrl)
  return formatCookie({
    name: SESSION_COOKIE,
    value,
    path: pathname.endsWith('/') ? pathname : `${pathname}/`,
    maxAgeSeconds,
    sameSite: 'Strict',
    isSecure: protocol === 'https:',
  })
}

function redirect(location: string, setCookie?: string): EndpointResponse {
  const headers = {
    location,
    'content-type': 'text/plain; charset=utf-8',
    ...(setCookie !== undefined && { 'set-cookie': setCookie }),
  }
  return { status: 303, headers, body: 'See the location.' }
}

function roleMissingError({ claims }: SignedIn, claim: string): GatewayError {
  const reason = isLeftOut(claims, claim)
    ? `the claim ${claim} was left out of the token, because it has too many values`
    : `the claim ${claim} has no value that gives a role here`
  const advice = 'Ask whoever manages the identity provider.'
  return identityError('role_missing', `You are signed in, but ${reason}. ${advice}`)
}

/** Shows an error as a page: a browser was sent here. */
async function orPage(respond: () => Promise<EndpointResponse>): Promise<EndpointResponse> {
  try {
    return await respond()
  } catch (error) {
    if (!GatewayError.isInstance(error)) throw error
    const { status, code, message, details } = error
    // The link is relative, because the gateway may be below a path of a proxy.
    const content = `<p>${escapeHtml(message)}</p><p><a href="./">Go to the console</a></p>`
    const page = htmlPage('You are not signed in', content, status)
    const headers = {
      ...page.headers,
      'x-error-code': code,
      ...(details.retryAfter !== undefined && { 'retry-after': String(details.retryAfter) }),
    }
    return { ...page, headers }
  }
}
