import { timingSafeEqual } from 'node:crypto'
import {
  type Admission,
  type Author,
  GatewayError,
  type OperatorRole,
  StreamDamagedError,
} from '../../core/contract/index.ts'
import { ROOT_ACTOR } from '../../core/event-log/actor.ts'
import type { AuthenticateOperator } from '../../core/http/endpoints.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import type { StreamHealth } from '../../projections/runtime/stream-health.ts'
import type { AccessLog } from './access-log.ts'
import { apiKeyOf, hashApiKey } from './api-key.ts'
import type { AuthFailureLimiter } from './auth-failures.ts'
import type { Session, Sessions } from './sessions.ts'

interface OperatorServices {
  /** Undefined or null if no admin key is configured. */
  readonly adminKey: string | null | undefined
  readonly operators: Pick<OperatorAccounts, 'byKeyHash'>
  readonly streams: Pick<StreamHealth, 'damageOfOperators'>
  readonly authFailures: AuthFailureLimiter
  readonly accessLog: Pick<AccessLog, 'signIn' | 'refuse'>
  readonly sessions: Pick<Sessions, 'authenticate' | 'actorOf'>
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
  const { adminKey, operators, streams, authFailures, accessLog, sessions } = services
  const adminHash = adminKey ? Buffer.from(hashApiKey(adminKey)) : undefined

  /** Resolves with the author, or rejects with 401 or 429. */
  async function identify(request: Admission): Promise<Identified> {
    const { requestId } = request
    const key = apiKeyOf(request)
    if (key === undefined) return identifyBySession(sessions.authenticate(request), requestId)
    const hash = hashApiKey(key)
    if (adminHash !== undefined && timingSafeEqual(Buffer.from(hash), adminHash)) {
      const limitError = authFailures.limitErrorFor('admin', request.req)
      if (limitError !== undefined) throw limitError
      return { role: 'admin', author: { actor: ROOT_ACTOR, requestId } }
    }
    const operator = operators.byKeyHash(hash)
    if (operator === undefined)
      throw await authFailures.recordFailure('admin', request.req, keyError('Invalid'))
    const { id, name, role } = operator
    return { role, author: { actor: { type: 'operator', id, name }, requestId } }
  }

  /** An ended session is its holder's, who is known. */
  function endedSessionAuthor({ code }: GatewayError, { headers }: Admission): Author | undefined {
    const actor = code === 'session_ended' ? sessions.actorOf(headers) : undefined
    return actor && { actor }
  }

  return async (request, required) => {
    const noteRefusal = (code: string, author?: Author) =>
      accessLog.refuse(request.req, code, `${request.method} ${request.endpoint}`, author)
    const { role, author } = await identify(request).catch((error) => {
      if (GatewayError.isInstance(error)) noteRefusal(error.code, endedSessionAuthor(error, request))
      throw error
    })
    const damaged = author.actor.type === 'operator' ? streams.damageOfOperators() : undefined
    if (damaged) throw new StreamDamagedError(damaged.stream, damaged.damage)
    if (INCLUDED[role].includes(required)) {
      await accessLog.signIn(author)
      return author
    }
    noteRefusal('role_required', author)
    const message =
      `This endpoint requires the role ${required}; the role of ${author.actor.name} is ${role}. ` +
      'Ask an operator with the role admin.'
    throw new GatewayError('role_required', message)
  }
}

interface Identified {
  readonly role: OperatorRole
  readonly author: Author
}

function identifyBySession(session: Session | undefined, requestId: string): Identified {
  if (session === undefined) throw keyError('Missing')
  const { holder } = session
  if (holder.type === 'root') return { role: 'admin', author: { actor: ROOT_ACTOR, requestId } }
  if (holder.type === 'user') {
    const message = 'This endpoint is for operators. You are signed in with the API key of a user.'
    throw new GatewayError('endpoint_not_allowed', message)
  }
  const { id, name, role } = holder.operator
  return { role, author: { actor: { type: 'operator', id, name }, requestId } }
}

function keyError(problem: 'Missing' | 'Invalid'): GatewayError {
  const advice = 'Send the key of an operator, or the ADMIN_KEY, as "Authorization: Bearer <KEY>".'
  return new GatewayError('invalid_api_key', `${problem} operator key. ${advice}`)
}
