import { timingSafeEqual } from 'node:crypto'
import { type Admission, type Author, GatewayError, type OperatorRole } from '../../core/contract/index.ts'
import { ROOT_ACTOR } from '../../core/event-log/actor.ts'
import type { AuthenticateOperator } from '../../core/http/endpoints.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import type { AuthFailureLimiter } from './auth-failures.ts'
import { apiKeyOf, hashApiKey } from './authenticate.ts'

interface OperatorServices {
  /** Undefined or null if no admin key is configured. */
  readonly adminKey: string | null | undefined
  readonly operators: Pick<OperatorAccounts, 'byKeyHash'>
  readonly authFailures: AuthFailureLimiter
}

/** The endpoints that each role may call, by the role that they require: each role includes those below. */
const INCLUDED: Readonly<Record<OperatorRole, readonly OperatorRole[]>> = {
  admin: ['admin', 'editor', 'auditor'],
  editor: ['editor', 'auditor'],
  auditor: ['auditor'],
}

/**
 * Admits requests with the admin key, and with the key of an operator whose role includes that of the
 * endpoint; responds with 403 to other roles and with 401 to all other keys. Once an address is over its
 * failure limit, even the correct admin key gets 429: it is chosen by a person, so a correct guess must not
 * be apparent. Keys of operators are random. See docs/decisions/limits.md, "A valid API key is served from an
 * address that guesses; the admin key is not".
 */
export function requireOperator({
  adminKey,
  operators,
  authFailures,
}: OperatorServices): AuthenticateOperator {
  const adminHash = adminKey ? Buffer.from(hashApiKey(adminKey)) : undefined

  /** Resolves with the author, or rejects with 401 or 429. */
  function identify(request: Admission): Identified | Promise<never> {
    const { requestId } = request
    const key = apiKeyOf(request)
    if (key === undefined) throw keyError('Missing')
    const hash = hashApiKey(key)
    if (adminHash !== undefined && timingSafeEqual(Buffer.from(hash), adminHash)) {
      const limitError = authFailures.limitErrorFor('admin', request.req)
      if (limitError !== undefined) throw limitError
      return { role: 'admin', author: { actor: ROOT_ACTOR, requestId } }
    }
    const operator = operators.byKeyHash(hash)
    if (operator === undefined)
      return authFailures.recordFailure('admin', request.req, keyError('Invalid')).then(rejectWith)
    const { id, name, role } = operator
    return { role, author: { actor: { type: 'operator', id, name }, requestId } }
  }

  return async (request, required) => {
    const { role, author } = await identify(request)
    if (INCLUDED[role].includes(required)) return author
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

function keyError(problem: 'Missing' | 'Invalid'): GatewayError {
  const advice = 'Send the key of an operator, or the ADMIN_KEY, as "Authorization: Bearer <KEY>".'
  return new GatewayError('invalid_api_key', `${problem} operator key. ${advice}`)
}

function rejectWith(error: GatewayError): never {
  throw error
}
