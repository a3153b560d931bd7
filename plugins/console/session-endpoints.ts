import type { IncomingHttpHeaders } from 'node:http'
import {
  type Actor,
  data,
  type Endpoint,
  endpoint,
  errorsOf,
  GatewayError,
  type JsonObject,
  Nullable,
  OPERATOR_ROLES,
  operator,
  publicAccess,
  StrictObject,
  StringEnum,
  Type,
  user,
} from '../../core/contract/index.ts'
import { formatCookie } from '../../core/http/cookies.ts'
import { Success, Timestamp } from '../../core/http/schemas.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import {
  apiKeyOf,
  COOKIE_HOURS,
  OperatorScope,
  SESSION_COOKIE,
  type Session,
  type SessionHolder,
  type Sessions,
  UserIdentity,
} from '../auth/index.ts'

const path = Type.Optional(
  Type.String({
    pattern: '^/[\\w.~%/-]*$',
    maxLength: 200,
    description: 'Path of the cookie: that of the gateway, if a proxy serves it below a path.',
    examples: ['/'],
  }),
)

const SignIn = Type.Optional(StrictObject({ path }, { $id: 'ConsoleSignIn', description: 'How to sign in.' }))

const SessionSchema = Type.Object(
  {
    type: StringEnum(['root', 'operator', 'user'], { description: 'Whose key it is.' }),
    id: Type.String({ description: 'Id of the operator, or of the API key; root for the ADMIN_KEY.' }),
    name: Type.String({ description: 'Name of the operator or user.' }),
    role: Nullable(StringEnum(OPERATOR_ROLES, { description: 'The role of an operator.' })),
    scope: Nullable(OperatorScope, {
      description: 'What the operator sees and changes; null: everything, or a user.',
    }),
    user_id: Nullable(Type.Integer({ description: 'Id of the user.' })),
    plan: Nullable(Type.String({ description: 'Plan of the user.' })),
    sends_chats: Type.Boolean({
      description: 'Whether the session is accepted by POST /v1/chat/completions, with its csrf_token.',
    }),
    csrf_token: Type.String({ description: 'The header x-csrf-token of every change.' }),
    expires_at: Timestamp('When the session ends.'),
    external: Type.Optional(UserIdentity),
  },
  { $id: 'ConsoleSession', description: 'A session of the console.' },
)

const SignInOptions = Type.Object(
  {
    provider: Type.String({ description: 'Host of the identity provider that /console/login leads to.' }),
    keys: Type.Boolean({ description: 'Whether keys other than the ADMIN_KEY sign in.' }),
  },
  { $id: 'ConsoleSignInOptions', description: 'How to sign in; missing if only keys do.' },
)

/** Of the setting `identity.console`. */
export interface ConsoleProvider {
  readonly issuer: string
  readonly only?: boolean
}

const common = { tags: ['console'] }

const signInResponses = {
  201: {
    description: 'The session. The cookie authenticates requests of the browser.',
    body: data(SessionSchema),
    headers: { 'set-cookie': Type.String({ description: 'The cookie of the session.' }) },
  },
}

/** Creates the endpoints that sign in and out. */
export function createSessionEndpoints(
  sessions: Sessions,
  operators: Pick<OperatorAccounts, 'find'>,
  hasPlayground: boolean,
  provider: ConsoleProvider | undefined,
): readonly Endpoint[] {
  const signIn = provider && { provider: new URL(provider.issuer).host, keys: provider.only !== true }

  function start(holder: SessionHolder, headers: IncomingHttpHeaders, path = '/') {
    requireKey(headers)
    if (signIn?.keys === false && holder.type !== 'root') throw keysRefusedError(signIn.provider)
    const session = sessions.start(holder)
    const cookie = formatSession(session.cookie, path, headers, COOKIE_HOURS * 3600)
    return { status: 201, headers: { 'set-cookie': cookie }, body: { data: showSession(session) } }
  }

  function holderOf({ type, id }: Actor): SessionHolder {
    if (type === 'root') return { type: 'root' }
    const operator = operators.find(id)
    if (operator === undefined) throw new GatewayError('invalid_api_key', 'The operator was removed.')
    return { type: 'operator', operator }
  }

  function showSession({ holder, csrfToken, expiresAtMs }: Session): JsonObject {
    return {
      ...showHolder(holder),
      sends_chats: hasPlayground && holder.type === 'user',
      csrf_token: csrfToken,
      expires_at: new Date(expiresAtMs).toISOString(),
    }
  }

  return [
    endpoint({
      ...common,
      method: 'POST',
      path: '/console/session',
      access: operator('auditor', 'whole'),
      operationId: 'startOperatorSession',
      summary: 'Signs an operator in to the console.',
      description: 'The key of the operator, or the ADMIN_KEY, is the bearer token.',
      body: SignIn,
      examples: { root: { path: '/' } },
      responses: signInResponses,
      errors: ['keys_refused'],
      handle({ author, headers, body }) {
        return start(holderOf(author.actor), headers, body?.path)
      },
    }),
    endpoint({
      ...common,
      method: 'POST',
      path: '/console/user-session',
      access: user(),
      operationId: 'startUserSession',
      summary: 'Signs a user in to the console.',
      description: 'The API key of the user is the bearer token.',
      body: SignIn,
      examples: { root: { path: '/' } },
      responses: signInResponses,
      errors: ['keys_refused'],
      handle: ({ account, headers, body }) => start({ type: 'user', account }, headers, body?.path),
    }),
    endpoint({
      ...common,
      method: 'GET',
      path: '/console/session',
      access: publicAccess,
      operationId: 'readSession',
      summary: 'Returns the session of the cookie.',
      responses: {
        200: {
          description: 'The session, or null if nobody is signed in.',
          body: Type.Object(
            {
              data: Nullable(SessionSchema, { description: 'The session; null if nobody is signed in.' }),
              sign_in: Type.Optional(SignInOptions),
            },
            { $id: 'CurrentConsoleSession', description: 'The result.' },
          ),
        },
      },
      async handle({ headers, requestId }) {
        // A holder whose session cannot be checked may sign in with the ADMIN_KEY.
        const session = await sessions.findConfirmed(headers, requestId)
        const shown = session === undefined ? null : showSession(session)
        return { status: 200, body: { data: shown, ...(signIn && { sign_in: signIn }) } }
      },
    }),
    endpoint({
      ...common,
      method: 'DELETE',
      path: '/console/session',
      access: publicAccess,
      operationId: 'endSession',
      summary: 'Signs out: ends the session everywhere, and removes the cookie from the browser.',
      query: { path },
      responses: { 200: { description: 'Signed out.', body: Success } },
      errors: ['csrf_token_invalid'],
      async handle({ headers, query, requestId }) {
        await sessions.end({ method: 'DELETE', headers }, requestId)
        const cookie = formatSession('', query.path ?? '/', headers, 0)
        return { status: 200, headers: { 'set-cookie': cookie }, body: { success: true } }
      },
    }),
  ]
}

export const CONSOLE_ERROR_CODES = {
  keys_refused: {
    ...{ status: 403, type: 'permission_error' },
    description: 'The console is signed in to at the identity provider only.',
  },
} as const

function keysRefusedError(provider: string): GatewayError {
  const message =
    `The console is signed in to at ${provider}, without a key. Besides, only the ADMIN_KEY is accepted, ` +
    'for when the identity provider is not available.'
  return errorsOf(CONSOLE_ERROR_CODES)('keys_refused', message)
}

/** A session must not start another one: it would never end. */
function requireKey(headers: IncomingHttpHeaders): void {
  if (apiKeyOf({ headers }) !== undefined) return
  throw new GatewayError('invalid_api_key', 'Sign in with a key as "Authorization: Bearer <KEY>".')
}

/** Browsers send the origin with every sign-in, so it tells whether they use HTTPS. */
function formatSession(value: string, path: string, { origin }: IncomingHttpHeaders, maxAgeSeconds: number) {
  const isSecure = origin?.startsWith('https:') === true
  return formatCookie({ name: SESSION_COOKIE, value, path, maxAgeSeconds, sameSite: 'Strict', isSecure })
}

function showHolder(holder: SessionHolder): JsonObject {
  if (holder.type === 'root')
    return { type: 'root', id: 'root', name: 'root', role: 'admin', scope: null, user_id: null, plan: null }
  if (holder.type === 'operator') {
    const { id, name, role, scope, external } = holder.operator
    const more = external && { external }
    return { type: 'operator', id, name, role, scope, user_id: null, plan: null, ...more }
  }
  const { keyId, name, userId, plan } = holder.account
  return { type: 'user', id: keyId, name, role: null, scope: null, user_id: userId, plan }
}
