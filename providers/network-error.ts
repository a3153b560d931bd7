import { GatewayError } from '../core/contract/errors.ts'

/**
 * What a failed upstream request means. Gives back as it is what was already explained: why the request was broken off
 * (the client's own reason, a timeout), and a `GatewayError`. A fault of our own program stays one too.
 */
export function toNetworkError(
  error: unknown,
  provider: string,
  brokenOff: { readonly reason: unknown } | undefined,
): unknown {
  if (brokenOff !== undefined) return brokenOff.reason
  if (error instanceof GatewayError || !(error instanceof Error) || !('code' in error)) return error
  // The error itself may carry what the vendor sent, which may quote key and prompt: the log gets its words only.
  const cause = new Error(`${error.code ?? error.name}: ${error.message}`)
  const code = String(error.code)
  if (TIMEOUTS.has(code)) {
    return new GatewayError('provider_timeout', `${provider} could not be reached in time.`, { cause })
  }
  if (code.startsWith('HPE_') || error.name === 'HTTPParserError') {
    return new GatewayError('provider_error', `${provider} sent an answer that is not HTTP.`, { cause })
  }
  return new GatewayError('provider_unreachable', `The connection to ${provider} failed.`, { cause })
}

const TIMEOUTS = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'])
