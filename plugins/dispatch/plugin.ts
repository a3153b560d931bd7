import { GatewayError, type Plugin } from '../../core/contract/index.ts'
import { createCallProvider, type DispatchServices } from './call-provider.ts'
import { dispatchExchange } from './dispatch.ts'

/** Sends the request to the targets that routing chose and sets the reply of the exchange. */
export function createDispatch(services: DispatchServices): Plugin {
  const callProvider = createCallProvider(services)
  return {
    name: 'dispatch',
    after: ['routing'],
    setup: () => ({
      reply(exchange) {
        if (exchange.route === undefined)
          throw new GatewayError('internal_error', 'No plugin has set a route for the request.')
        return dispatchExchange(exchange, exchange.route, callProvider)
      },
    }),
  }
}
