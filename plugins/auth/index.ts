import { service } from '../../core/contract/index.ts'
import type { ClientAddressResolver } from '../../core/http/client-address.ts'
import type { SecretFile } from '../../core/secrets/secret-file.ts'
import type { AccessLog } from './access-log.ts'
import type { AuthFailureLimiter } from './auth-failures.ts'
import type { IssuedTokens } from './issued-tokens.ts'
import type { LastUses } from './keys.ts'
import type { Holders } from './session-holders.ts'
import type { Sessions } from './sessions.ts'

export { apiKeyOf, hashApiKey } from './api-key.ts'
export { checkEndpoint } from './authenticate.ts'
export { CallerTokens, type TokenRequest } from './caller-tokens.ts'
export { toIdentityAccount } from './identity-account.ts'
export { accessTokenSeconds, type GrantSubject, type IssuedTokens } from './issued-tokens.ts'
export { keys } from './keys.ts'
export { OperatorScope } from './operators.ts'
export { BudgetInput, BudgetTerms } from './schemas.ts'
export { type Holders, idOfHolder, type SessionHolder } from './session-holders.ts'
export {
  COOKIE_HOURS,
  createEndedError,
  SESSION_COOKIE,
  SESSION_HOURS,
  type Session,
  type SessionRenewal,
  type Sessions,
} from './sessions.ts'
export { requireUser, UserIdentity, userId, userNotFoundError, users } from './users.ts'

/** Who may do what, and how that changes. The gateway creates it: it checks operators itself. */
export interface Access {
  readonly authFailures: AuthFailureLimiter
  readonly accessLog: Pick<AccessLog, 'reportPrompts' | 'reportRatings'>
  readonly sessions: Sessions
  readonly tokens: IssuedTokens
  /** Signs and encrypts what browsers and programs keep for the gateway. */
  readonly secret: SecretFile
  readonly holders: Holders
  readonly resolveAddress: ClientAddressResolver
}

export const Access = service<Access>('auth.access')

/** When keys and users last sent a request. */
export const LastUse = service<LastUses>('auth.last-use')
