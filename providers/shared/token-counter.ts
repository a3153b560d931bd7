import { type EndedExchange, GatewayError, service, type Target } from '../../core/contract/index.ts'
import { untilAborted } from '../../core/threads/timeout.ts'
import { PromptTokens } from '../../core/tokens/prompt-tokens.ts'
import { createExactTokenizer } from '../../core/tokens/tokenizer.ts'
import { meetsRequirement } from './attributes.ts'
import { limitRequest } from './catalog.ts'
import type { Provider } from './providers.ts'

type CountedExchange = Pick<EndedExchange, 'request' | 'route' | 'requires' | 'client' | 'warnings'>

/** Counts the input tokens of requests that are not sent. */
export interface TokenCounter {
  /** Rejects with the client's reason if it disconnects. */
  count(exchange: CountedExchange): Promise<number>
  close(): Promise<void>
}

export const TokenCounter = service<TokenCounter>('token-counter')

/** A provider that does not answer sooner is not worth waiting for: the own count is close. */
const ASK_TIMEOUT_MS = 3000

/** How long a provider that was too slow is not asked again. */
const PAUSE_MS = 15_000

/**
 * Asks the provider of the first target if it counts tokens. Otherwise counts those of o200k, OpenAI's
 * tokenizer, and converts them to those of the model. See docs/decisions/responses.md, "Counting input tokens
 * passes the rules".
 */
export function createTokenCounter(providers: ReadonlyMap<string, Provider>): TokenCounter {
  const tokenizer = createExactTokenizer()
  /** `performance.now()` from which slow providers are asked again. */
  const pausedUntil = new Map<string, number>()

  async function ask(
    { request, requires, client }: Pick<EndedExchange, 'request' | 'requires' | 'client'>,
    target: Target,
  ): Promise<number | undefined> {
    const provider = providers.get(target.provider)
    if (provider === undefined) return undefined
    const isMet = (at: Target) => meetsRequirement(requires, at, provider)
    const deployment = provider.deployments?.members.find((member) => isMet(member.at(target)))
    const { countTokens } = (deployment ?? provider).client
    if (countTokens === undefined || !isMet(target)) return undefined
    if ((pausedUntil.get(target.provider) ?? 0) > performance.now()) return undefined
    try {
      const { request: limited } = limitRequest(request, provider.capabilities)
      return await countTokens(limited, target, client, ASK_TIMEOUT_MS)
    } catch (error) {
      client.signal.throwIfAborted()
      if (GatewayError.isInstance(error) && error.code === 'provider_timeout')
        pausedUntil.set(target.provider, performance.now() + PAUSE_MS)
      return undefined
    }
  }

  return {
    async count(exchange) {
      const target = exchange.route?.targets[0]
      // A guardrail that is not called in simulations has not seen what would leave the gateway.
      const isChecked = !exchange.warnings.some(({ code }) => code === 'guardrail')
      const asked = target && isChecked ? await ask(exchange, target) : undefined
      if (asked !== undefined) return asked
      const prompt = new PromptTokens(exchange.request)
      const counting = tokenizer.count(prompt.texts).catch(() => undefined)
      const counted = await untilAborted(counting, exchange.client.signal)
      return prompt.of(target?.model, undefined, counted)
    },
    close: () => tokenizer.close(),
  }
}
