import { GatewayError } from '../../core/contract/errors.ts'
import type { ClientConnection } from '../../core/contract/exchange.ts'

/** Credentials that are fetched again before they expire, and once if a provider refuses them. */
export interface RenewableCredentials {
  /** Counts the different credentials so far. */
  readonly version: number
  /**
   * Fetches new credentials in place of the refused ones of `version`. Resolves to whether there are others
   * now; false if they were renewed for this reason within the last 30 seconds. Rejects with the reason of
   * `signal`, and not if the fetch fails.
   */
  renewRefused(version: number, signal: AbortSignal): Promise<boolean>
}

/** As `HTTP 401` and AWS's `HTTP 403 ExpiredTokenException`. 403 of others is about permissions. */
export const REFUSED_CREDENTIALS =
  /^HTTP (?:401\b|403 (?:ExpiredToken|UnrecognizedClient|InvalidClientTokenId))/

/** Whether a provider has refused the credentials themselves. */
function isRefusal(error: unknown): boolean {
  if (!GatewayError.isInstance(error) || error.code !== 'provider_authentication_error') return false
  return error.cause instanceof Error && REFUSED_CREDENTIALS.test(error.cause.message)
}

/**
 * Makes a call. If the provider refuses its credentials, as after they were revoked, the call is repeated
 * once with new ones: nothing was executed.
 */
export async function withRenewal<Result>(
  credentials: RenewableCredentials,
  { waiting, signal }: ClientConnection,
  call: () => Promise<Result>,
): Promise<Result> {
  const { version } = credentials
  try {
    return await call()
  } catch (error) {
    if (!isRefusal(error)) throw error
    waiting?.begin()
    const isRenewed = await credentials.renewRefused(version, signal).finally(() => waiting?.end())
    if (!isRenewed) throw error
  }
  return call()
}
