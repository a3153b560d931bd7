import { timingSafeEqual } from 'node:crypto'
import {
  type Admission,
  type Author,
  errorsOf,
  GatewayError,
  type OperatorRole,
  StreamDamagedError,
} from '../../core/contract/index.ts'
import { ROOT_ACTOR } from '../../core/event-log/actor.ts'
import type { AuthenticatedOperator, AuthenticateOperator } from '../../core/http/endpoints.ts'
import type { OperatorAccount } from '../../projections/events/operators.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import { createOperatorScope, type ScopedGroups } from '../../projections/operator-scope.ts'
import type { StreamHealth } from '../../projections/runtime/stream-health.ts'
import type { AccessLog } from './access-log.ts'
import { apiKeyOf, hashApiKey } from './api-key.ts'
import type { AuthFailureLimiter } from './auth-failures.ts'
import { AUTH_ERROR_CODES } from './authenticate.ts'
import type { GrantSubject, IssuedTokens } from './issued-tokens.ts'
import type { Session, Sessions } from './sessions.ts'

interface OperatorServices {
  /** Undefined or null if no admin key is configured. */
  readonly adminKey: string | null | undefined
  readonly operators: Pick<OperatorAccounts, 'byKeyHash' | 'byExpiredKeyHash'>
  readonly groups: ScopedGroups
  readonly streams: Pick<StreamHealth, 'damageOfOperators'>
  readonly authFailures: AuthFailureLimiter
  readonly accessLog: Pick<AccessLog, 'signIn' | 'refuse'>
  readonly sessions: Pick<Sessions, 'authenticate' | 'confirm' | 'actorOf'>
  readonly tokens: Pick<IssuedTokens, 'isToken' | 'read'>
}

/**
 * The required roles that each role fulfils. See docs/decisions/operators.md, "Each role includes those below
 * it".
 */
const INCLUDED: Readonly<Record<OperatorRole, readonly OperatorRole[]>> = {
  admin: ['admin', 'editor', 'auditor'],
  editor: ['editor', 'auditor'],
  auditor: ['auditor'],
}

/**
 * Admits requests with the admin key, and with the key or the session of an operator whose role includes that
 * of the endpoint; responds with 403 to other roles and with 401 to all other keys. Once an address is over
 * its failure limit, even the correct admin key gets 429: it is chosen by a person, so a correct guess must
 * not be apparent. Keys of operators are random. See docs/decisions/limits.md, "A valid API key is served
 * from an address that guesses; the admin key is not". While the stream of the operators is damaged, all but
 * root get 503: they may have been removed.
 */
export function requireOperator(services: OperatorServices): AuthenticateOperator {
  const { adminKey, operators, streams, authFailures, accessLog, sessions, tokens } = services
  const adminHash = adminKey ? Buffer.from(hashApiKey(adminKey)) : undefined

  /** Resolves with the author, or rejects with 401 or 429. */
  async function identify(request: Admission): Promise<Identified> {
    const { requestId } = request
    const key = apiKeyOf(request)
    if (key === undefined) {
      const session = sessions.authenticate(request)
      if (session !== undefined) await sessions.confirm(session, requestId)
      return identifyBySession(session, services, requestId)
    }
    const hash = hashApiKey(key)
    if (adminHash !== undefined && timingSafeEqual(Buffer.from(hash), adminHash)) {
      const limitError = authFailures.limitErrorFor('admin', request.req)
      if (limitError !== undefined) throw limitError
      return toRoot(requestId)
    }
    const byToken = tokens.isToken(key) ? tokens.read(key)?.subject : undefined
    if (byToken !== undefined) return identifyByToken(byToken, services, requestId)
    const operator = operators.byKeyHash(hash)
    if (operator === undefined) {
      const expired = operators.byExpiredKeyHash(hash)
      if (expired !== undefined) throw createExpiredError(expired)
      throw await authFailures.recordFailure('admin', request.req, keyError('Invalid'))
    }
    return toIdentified(operator, services, requestId)
  }

  /** An ended session is its holder's, who is known. */
  function endedSessionAuthor({ code }: GatewayError, { headers }: Admission): Author | undefined {
    const actor = code === 'session_ended' ? sessions.actorOf(headers) : undefined
    return actor && { actor }
  }

  return async (request, { role: required, scoped = 'refused' }) => {
    const noteRefusal = (code: string, author?: Author) =>
      accessLog.refuse(request.req, code, `${request.method} ${request.endpoint}`, author)
    const { role, author, scope } = await identify(request).catch((error) => {
      if (GatewayError.isInstance(error)) noteRefusal(error.code, endedSessionAuthor(error, request))
      throw error
    })
    const damaged = author.actor.type === 'operator' ? streams.damageOfOperators() : undefined
    if (damaged) throw new StreamDamagedError(damaged.stream, damaged.damage)
    const error = INCLUDED[role].includes(required)
      ? scope && scoped === 'refused' && createScopeError(author)
      : createRoleError(author, role, required)
    if (error) {
      noteRefusal(error.code, author)
      throw error
    }
    await accessLog.signIn(author)
    return { author, scope }
  }
}

function createExpiredError({ id }: OperatorAccount): GatewayError {
  const advice = 'Ask an operator with the role admin for a new one.'
  return errorsOf(AUTH_ERROR_CODES)('key_expired', `The key of the operator ${id} has expired. ${advice}`)
}

interface Identified extends AuthenticatedOperator {
  readonly role: OperatorRole
}

function toRoot(requestId: string): Identified {
  return { role: 'admin', author: { actor: ROOT_ACTOR, requestId }, scope: undefined }
}

/** As the operator is at this moment, so that a changed role or scope is in force at once. */
function toIdentified(
  { id, name, role, scope }: OperatorAccount,
  { groups }: Pick<OperatorServices, 'groups'>,
  requestId: string,
): Identified {
  const author: Author = { actor: { type: 'operator', id, name }, requestId }
  return { role, author, scope: scope ? createOperatorScope(scope.groups, groups) : undefined }
}

function createRoleError({ actor }: Author, role: OperatorRole, required: OperatorRole): GatewayError {
  const message =
    `This endpoint requires the role ${required}; the role of ${actor.name} is ${role}. ` +
    'Ask an operator with the role admin.'
  return new GatewayError('role_required', message)
}

function createScopeError({ actor }: Author): GatewayError {
  const message =
    `This endpoint is about more than the groups in the scope of ${actor.name}. ` +
    'Ask an operator without a scope.'
  return new GatewayError('endpoint_not_allowed', message)
}

function identifyByToken(
  { account, operator }: GrantSubject,
  services: Pick<OperatorServices, 'groups'>,
  requestId: string,
): Identified {
  if (account === undefined)
    return operator === undefined ? toRoot(requestId) : toIdentified(operator, services, requestId)
  const message = 'This endpoint is for operators. The token is that of a user.'
  throw new GatewayError('endpoint_not_allowed', message)
}

function identifyBySession(
  session: Session | undefined,
  services: Pick<OperatorServices, 'groups'>,
  requestId: string,
): Identified {
  if (session === undefined) throw keyError('Missing')
  const { holder } = session
  if (holder.type === 'root') return toRoot(requestId)
  if (holder.type === 'user') {
    const message = 'This endpoint is for operators. You are signed in with the API key of a user.'
    throw new GatewayError('endpoint_not_allowed', message)
  }
  return toIdentified(holder.operator, services, requestId)
}

function keyError(problem: 'Missing' | 'Invalid'): GatewayError {
  const advice = 'Send the key of an operator, or the ADMIN_KEY, as "Authorization: Bearer <KEY>".'
  return new GatewayError('invalid_api_key', `${problem} operator key. ${advice}`)
}
