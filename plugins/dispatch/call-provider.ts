import {
  type ChatRequest,
  type EndedExchange,
  GatewayError,
  type Reply,
  type ReplyingExchange,
  type ReplyPart,
  type Target,
} from '../../core/contract/index.ts'
import { limitRequest } from '../../providers/shared/catalog.ts'
import type { CircuitBreakers } from '../../providers/shared/circuit.ts'
import type { Provider } from '../../providers/shared/client.ts'
import type { LatencyTracker } from '../../providers/shared/latency.ts'
import { addParameterWarnings } from './parameter-warnings.ts'

/** Sends the request of an exchange to a target. Rejects with a `GatewayError`. */
export type CallProvider = (exchange: ReplyingExchange, target: Target) => Promise<Reply>

export interface DispatchServices {
  readonly providers: ReadonlyMap<string, Provider>
  readonly circuitBreakers: Pick<CircuitBreakers, 'guard'>
  readonly latency: Omit<LatencyTracker, 'estimateMs'>
}

export function createCallProvider(services: DispatchServices): CallProvider {
  const { providers, circuitBreakers, latency } = services
  return async (exchange, target) => {
    const { client, capabilities } = findProvider(providers, target.provider)
    const { request, omitted } = limitRequest(withSentDefaults(exchange, target), capabilities)
    const sentAt = performance.now()
    const by = { caller: exchange.account.userId, isRetry: wasSent(exchange, target) }
    const sent = await circuitBreakers.guard(target, by, () =>
      client.send(request, target, exchange.client, {
        operation: exchange.operation,
        headers: exchange.headersOfCall?.(target),
      }),
    )
    const repliedAt = performance.now()

    exchange.target = target
    addParameterWarnings(exchange, target, { omitted: [...omitted, ...sent.omitted], changed: sent.changed })
    if (sent.reply.type === 'stream') {
      latency.recordFirstEvent(target, repliedAt - sentAt)
      const ended: EndedExchange = exchange
      exchange.client.onClose(() => {
        // The usage of a stream that broke off is partial, or an estimate.
        const outputTokens = ended.finishReason === undefined ? 0 : (ended.usage?.output ?? 0)
        latency.recordRemainder(target, outputTokens, performance.now() - repliedAt)
      })
    } else {
      latency.recordWholeReply(target, outputTokensOf(sent.reply.event.parts), repliedAt - sentAt)
    }
    return sent.reply
  }
}

/** Adds the temperature of the endpoint, unless the model or a `top_p` of the caller excludes one. */
function withSentDefaults({ request, sentDefaults }: ReplyingExchange, { entry }: Target): ChatRequest {
  if (sentDefaults === undefined || entry?.sampling !== true) return request
  return request.temperature == null && request.top_p == null ? { ...request, ...sentDefaults } : request
}

function wasSent({ attempts }: ReplyingExchange, target: Target): boolean {
  return attempts.some((attempt) => attempt.target === target && attempt.outcome !== 'model_unavailable')
}

function outputTokensOf(parts: readonly ReplyPart[]): number {
  const usage = parts.findLast((part) => part.type === 'usage')
  return usage?.usage.output ?? 0
}

function findProvider(providers: ReadonlyMap<string, Provider>, id: string): Provider {
  const provider = providers.get(id)
  if (provider !== undefined) return provider
  throw new GatewayError('no_providers_available', `Provider ${id} is not configured.`)
}
