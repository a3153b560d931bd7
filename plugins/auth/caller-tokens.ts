import type { IncomingHttpHeaders } from 'node:http'
import { type Account, type Admission, service } from '../../core/contract/index.ts'

/** Tokens of identity providers that callers use in place of API keys. */
export interface CallerTokens {
  /** The account of a verified token, by its SHA-256 in hex. Throws 401 once the token has expired. */
  find(hash: string): Account | undefined
  /** Whether a text is a JWT, valid or not. */
  isToken(text: string): boolean
  /**
   * Verifies a token, and writes what it says of its subject if that differs from what is known. Rejects with
   * 401, with 403 for an unknown subject, and with 503 if it cannot be checked.
   */
  verify(token: string, hash: string, request: TokenRequest): Promise<Account>
  /** Throws 401 if the token has expired, or its user was deleted, since the request was admitted. */
  confirm(account: Account): void
  /** The header `www-authenticate` of a 401 at the path, which says who issues tokens. */
  challengeOf?(path: string, headers: IncomingHttpHeaders): string | undefined
}

/** The request that has a token. */
export type TokenRequest = Pick<Admission, 'requestId' | 'client'>

/** Undefined if the settings name no issuer. */
export const CallerTokens = service<CallerTokens | undefined>('identity.callers')
