import type { OutgoingRequest } from '../../core/contract/provider.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'
import type { RenewableCredentials } from '../shared/renew-credentials.ts'

/** The fields of a provider's row that say which cloud credentials its requests get. */
export interface CloudRow {
  /** auth: aws. */
  readonly region?: string | undefined
  readonly role_arn?: string | undefined
  readonly profile?: string | undefined
  /** auth: google. */
  readonly project?: string | undefined
  readonly location?: string | undefined
  readonly credentials_file?: string | undefined
  /** auth: entra. */
  readonly tenant_id?: string | undefined
  readonly client_id?: string | undefined
  /** The content of the variable that `client_secret_variable` names. */
  readonly client_secret?: string | undefined
  /** The file that it comes from, which is read again when it changes. */
  readonly client_secret_file?: string | undefined
  readonly token_scope?: string | undefined
}

/** Authorizes the requests to a provider by the identity that a cloud gave to this process. */
export interface Authorizer extends RenewableCredentials {
  /** See `ProviderAdapter.authorize`. Rejects with a `CredentialsError` that names the failed step. */
  authorize(request: OutgoingRequest, signal: AbortSignal): MaybePromise<Readonly<Record<string, string>>>
  /** Fetches credentials in the background, so that the first request need not wait. */
  start(): void
  close(): void
}
