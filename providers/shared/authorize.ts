import { GatewayError } from '../../core/contract/errors.ts'
import type { OutgoingRequest, ProviderAdapter } from '../../core/contract/provider.ts'
import { checkHeader } from '../../core/http/server/default-headers.ts'
import { untilAborted } from '../../core/threads/timeout.ts'
import type { CallDeadline } from './call-deadline.ts'

/**
 * Returns the headers that authorize a request. Rejects with the reason of a call that is aborted meanwhile,
 * and otherwise as for an invalid key: errors of the adapter may hold secrets.
 */
export async function authorizeRequest(
  authorize: NonNullable<ProviderAdapter['authorize']>,
  request: OutgoingRequest,
  provider: string,
  deadline: Pick<CallDeadline, 'signal'>,
): Promise<Readonly<Record<string, string>>> {
  const { signal } = deadline
  try {
    const headers = await untilAborted(Promise.resolve(authorize(request, signal)), signal)
    for (const [name, value] of Object.entries(headers)) checkHeader(name, value)
    return headers
  } catch (error) {
    signal.throwIfAborted()
    const kind = error instanceof Error ? error.constructor.name : typeof error
    const cause = new Error(`authorize failed with ${kind}`)
    const message = `${provider} could not be authenticated with. Ask the operator to check its credentials.`
    throw new GatewayError('provider_authentication_error', message, { cause })
  }
}
