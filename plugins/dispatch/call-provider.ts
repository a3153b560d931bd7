import { type Exchange, GatewayError, type Target } from '../../core/contract/index.ts'
import { noteReply } from '../../core/dialects/note-reply.ts'
import type { CircuitBreakers } from '../../providers/shared/breaker.ts'
import { limitRequest } from '../../providers/shared/catalog.ts'
import type { Provider } from '../../providers/shared/client.ts'
import type { Latency } from '../../providers/shared/latency.ts'

/** Sends the exchange's request to a target and leaves the reply on the exchange; rejects with a `GatewayError`. */
export type CallProvider = (exchange: Exchange, target: Target) => Promise<void>

export interface DispatchServices {
  readonly providers: ReadonlyMap<string, Provider>
  readonly circuitBreakers: CircuitBreakers
  readonly latency: Latency
}

export function createCallProvider({
  providers,
  circuitBreakers: health,
  latency,
}: DispatchServices): CallProvider {
  return async (exchange, target) => {
    const { client, capabilities } = findProvider(providers, target.provider)
    const { request, omitted } = limitRequest(exchange.request, capabilities)
    const begun = performance.now()
    // A pinned request has nowhere else to go, so it may queue at its provider.
    const queues = exchange.route?.isFixed
    const sent = await health.guard(target, () => client.send(request, target, exchange.client, queues))
    const answered = performance.now()

    exchange.target = target
    exchange.reply = sent.reply
    for (const param of [...omitted, ...sent.omitted]) {
      if (exchange.defaulted.includes(param)) continue
      exchange.warnings.push({
        code: 'parameter',
        message: `${param} was left out: ${target.model} does not take it.`,
      })
    }
    if (sent.reply.type === 'stream') {
      latency.sawFirst(target, answered - begun)
      exchange.client.onClose(() =>
        latency.sawRest(target, exchange.usage?.output ?? 0, performance.now() - answered),
      )
    } else {
      noteReply(exchange, sent.reply.event)
      latency.sawWhole(target, exchange.usage?.output ?? 0, answered - begun)
    }
  }
}

function findProvider(providers: ReadonlyMap<string, Provider>, id: string): Provider {
  const provider = providers.get(id)
  if (provider !== undefined) return provider
  throw new GatewayError('no_providers_available', `Provider ${id} is not configured.`)
}
