import { GatewayError, type Plugin } from '../../core/contract/index.ts'
import type { Connection } from '../../providers/send.ts'
import { dispatch } from './dispatch.ts'

/** Sends the request where routing said, and leaves the reply on the exchange. */
export function createDispatch(connections: ReadonlyMap<string, Connection>): Plugin {
  const connectionTo = (provider: string): Connection => {
    const connection = connections.get(provider)
    if (connection !== undefined) return connection
    throw new GatewayError('no_providers_available', `The provider ${provider} is not configured here.`)
  }
  return {
    name: 'dispatch',
    after: ['routing'],
    setup: () => ({
      async middleware({ exchange }, next) {
        if (exchange.route === undefined)
          throw new GatewayError('internal_error', 'No plugin chose a target.')
        await dispatch(exchange, exchange.route, connectionTo)
        await next()
      },
    }),
  }
}
