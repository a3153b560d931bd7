import { GatewayError } from '../../core/contract/errors.ts'
import type { WaitingTime } from '../../core/contract/exchange.ts'
import type { OutgoingRequest, ProviderAdapter } from '../../core/contract/provider.ts'
import { checkHeader } from '../../core/http/server/default-headers.ts'
import { untilAborted } from '../../core/threads/timeout.ts'
import type { CallDeadline } from './call-deadline.ts'

/** Credentials could not be had. Only what it says itself is shown: what caused it may hold secrets. */
export class CredentialsError extends Error {
  /** Such as `assuming the role`: shown to callers, so without values of the settings. */
  readonly step: string
  /** What the service said, such as `AccessDenied`. Only logged, and only if it looks like a code. */
  readonly code: string | undefined

  constructor(step: string, code?: unknown) {
    super(`${step} failed`)
    this.step = step
    this.code = typeof code === 'string' && /^[A-Za-z][\w.-]{0,63}$/.test(code) ? code : undefined
  }
}

/**
 * Returns the headers that authorize a request. Rejects with the reason of a call that is aborted meanwhile,
 * and otherwise as for an invalid key: errors other than a `CredentialsError` may hold secrets.
 */
export async function authorizeRequest(
  authorize: NonNullable<ProviderAdapter['authorize']>,
  request: OutgoingRequest,
  provider: string,
  deadline: Pick<CallDeadline, 'signal'>,
  waiting?: WaitingTime,
): Promise<Readonly<Record<string, string>>> {
  const { signal } = deadline
  try {
    const authorized = untilAborted(Promise.resolve(authorize(request, signal)), signal)
    const headers = await whileBeyondTurn(waiting, authorized)
    for (const [name, value] of Object.entries(headers)) checkHeader(name, value)
    return headers
  } catch (error) {
    signal.throwIfAborted()
    throw toAuthenticationError(error, provider)
  }
}

/**
 * As `whileWaiting`, from the end of this turn of the event loop on: credentials that are there already are
 * used within it, and signing is the gateway's own work.
 */
async function whileBeyondTurn<Value>(
  waiting: WaitingTime | undefined,
  promise: Promise<Value>,
): Promise<Value> {
  let isWaiting = false
  const turn = setImmediate(() => {
    isWaiting = true
    waiting?.begin()
  })
  try {
    return await promise
  } finally {
    clearImmediate(turn)
    if (isWaiting) waiting?.end()
  }
}

function toAuthenticationError(error: unknown, provider: string): GatewayError {
  const { step, code } = error instanceof CredentialsError ? error : {}
  const kind = error instanceof Error ? error.constructor.name : typeof error
  const what = step === undefined ? `authorize failed with ${kind}` : `${step} failed`
  const cause = new Error(code === undefined ? what : `${what}: ${code}`)
  const message =
    `${provider} could not be authenticated with${step === undefined ? '' : `: ${step} failed`}. ` +
    'Ask the operator to check its credentials.'
  return new GatewayError('provider_authentication_error', message, { cause })
}
