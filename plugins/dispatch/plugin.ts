import { type Exchange, GatewayError, type Plugin } from '../../core/contract/index.ts'
import { createCallProvider, type DispatchServices } from './call-provider.ts'
import { dispatchExchange } from './dispatch.ts'

/**
 * Sends the request to the targets that routing chose and sets the reply of the exchange. `retriesOnTimeout`:
 * whether requests that were not answered are sent again, unless their header says otherwise.
 */
export function createDispatch(
  services: DispatchServices,
  { retriesOnTimeout }: { readonly retriesOnTimeout: boolean },
): Plugin {
  const callProvider = createCallProvider(services)
  return {
    name: 'dispatch',
    after: ['routing'],
    setup: () => ({
      // An invalid header is refused before a provider is called.
      decide: (exchange) => void parseRetryHeader(exchange),
      reply(exchange) {
        if (exchange.route === undefined)
          throw new GatewayError('internal_error', 'No plugin has set a route for the request.')
        return dispatchExchange(
          exchange,
          exchange.route,
          callProvider,
          parseRetryHeader(exchange) ?? retriesOnTimeout,
        )
      },
    }),
  }
}

const RETRY_HEADER = 'x-retry-on-timeout'

/** Returns what the caller wants; undefined without the header. Throws 400 if it is invalid. */
function parseRetryHeader({ headers }: Pick<Exchange, 'headers'>): boolean | undefined {
  const value = headers[RETRY_HEADER]
  if (value === undefined) return undefined
  if (value === 'true' || value === 'false') return value === 'true'
  const message = `The header ${RETRY_HEADER} must be "true" or "false". Correct or omit it.`
  throw new GatewayError('invalid_value', message, { param: RETRY_HEADER })
}
