import { GatewayError, type Plugin } from '../../core/contract/index.ts'
import { createCallProvider, type DispatchServices } from './call-provider.ts'
import { dispatchExchange } from './dispatch.ts'

/** Sends the request where routing said, and leaves the reply on the exchange. */
export function createDispatch(services: DispatchServices): Plugin {
  const callProvider = createCallProvider(services)
  return {
    name: 'dispatch',
    after: ['routing'],
    setup: () => ({
      middleware({ exchange }, next) {
        if (exchange.route === undefined)
          throw new GatewayError('internal_error', 'No plugin chose a target.')
        return dispatchExchange(exchange, exchange.route, callProvider).then(next)
      },
    }),
  }
}
