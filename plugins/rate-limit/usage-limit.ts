import type { Registry } from 'prom-client'
import {
  type Account,
  type EndedRequest,
  type GatewayError,
  PLANS,
  type PluginParts,
  type ReplyingExchange,
  SharedStateUnavailableError,
  slot,
} from '../../core/contract/index.ts'
import { formatDuration, retryAdvice, toRetryAfterSeconds } from '../../core/http/error-words.ts'
import { providerUseOf } from '../../core/pipeline/usage-recorder.ts'
import type { HeldReservations, HeldResult, Hold } from '../../core/shared-state/held-reservations.ts'
import type { CounterUse, ReservationEntry } from '../../core/shared-state/reservations.ts'
import { maxReplyTokens, PromptTokens, promptTokensOf } from '../../core/tokens/prompt-tokens.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { createOutcomeCounter } from '../../core/util/metrics.ts'
import { targetsToTry } from '../dispatch/index.ts'
import { counterUnavailable } from './request-limit.ts'
import { limitOf, type RateLimitSettings, rateLimitError, WINDOW_SECONDS } from './settings.ts'

/**
 * A request whose predecessor has just ended may arrive before the predecessor's end is counted, so a request
 * waits this long for others to end.
 */
export const USAGE_WAIT_MS = 100

/** What is reserved for a request; entries are undefined without a limit. */
interface UsageEntries {
  readonly tokens: (ReservationEntry & { readonly limit: number }) | undefined
  readonly slot: (ReservationEntry & { readonly limit: number }) | undefined
}

interface HeldUsage {
  readonly hold: Hold
  readonly entries: UsageEntries
}

const heldUsage = slot<HeldUsage>('rate-limit')

interface UsageLimit {
  readonly reply: NonNullable<PluginParts['reply']>
  /** Settles what was reserved. */
  observe(ended: Pick<EndedRequest, 'exchange'>): void
}

/**
 * Limits the tokens per minute and the inference requests at the same time of each user. Tokens are reserved
 * before a provider is called and settled when the response has ended. See docs/decisions/limits.md, "Tokens
 * are reserved before they are used".
 */
export function createUsageLimit(
  settings: RateLimitSettings,
  reservations: HeldReservations,
  metrics: Registry,
  waitMs = USAGE_WAIT_MS,
): UsageLimit {
  const recordOutcome = createUsageMetric(metrics)

  function reserve(exchange: ReplyingExchange, entries: UsageEntries): MaybePromise<void> {
    const { account, client } = exchange
    const onResult = (result: HeldResult) => {
      setTokenHeaders(exchange, entries, result)
      if (result.hold === undefined) {
        const isFull = listEntries(entries)[result.refusedBy] === entries.slot
        recordOutcome(account.plan, isFull ? 'refused_concurrency' : 'refused_tokens')
        throw isFull ? concurrencyExceeded(entries) : tokensExceeded(entries, result)
      }
      heldUsage.set(exchange, { hold: result.hold, entries })
      recordOutcome(account.plan, 'allowed')
    }
    const onUnavailable = (error: unknown) => {
      if (!SharedStateUnavailableError.isInstance(error)) throw error
      const isAllowed = settings.on_redis_failure[account.plan] === 'allow'
      recordOutcome(account.plan, isAllowed ? 'allowed_uncounted' : 'refused_uncounted')
      if (!isAllowed) throw counterUnavailable()
    }
    const result = reservations.reserve(listEntries(entries), { waitMs, client, remembered: 'window' })
    return result instanceof Promise ? result.then(onResult, onUnavailable) : onResult(result)
  }

  return {
    reply(exchange, next) {
      const { account } = exchange
      const tokenLimit = limitOf(account, account.tokensPerMinute, settings.tokens_per_minute)
      const slotLimit = limitOf(account, account.maxConcurrent, settings.max_concurrent)
      if (tokenLimit === null && slotLimit === null) return next()
      const entries = {
        tokens: tokenLimit === null ? undefined : tokenEntry(exchange, tokenLimit),
        slot: slotLimit === null ? undefined : slotEntry(account, slotLimit),
      }
      return chain(reserve(exchange, entries), next)
    },
    observe({ exchange }) {
      const held = exchange && heldUsage.of(exchange)
      if (exchange === undefined || held === undefined) return
      const { tokens } = held.entries
      const use = providerUseOf(exchange)
      const used = { nothing: 0, unknown: tokens?.amount ?? 0 }
      const usedTokens = typeof use === 'string' ? used[use] : use.input + use.output
      held.hold.settle(tokens === undefined ? [0] : [usedTokens, 0])
    },
  }
}

/** Tokens first: `settle` depends on the order. */
function listEntries({ tokens, slot }: UsageEntries): readonly ReservationEntry[] {
  return [...(tokens ? [tokens] : []), ...(slot ? [slot] : [])]
}

/** Reserves the prompt and the longest reply that a target of the route may send. */
function tokenEntry({ account, request, route, operation }: ReplyingExchange, limit: number) {
  const targets = route === undefined ? [] : targetsToTry(route)
  const reply = Math.max(0, ...targets.map(({ entry }) => maxReplyTokens(request, entry, operation)))
  const tokens = new PromptTokens(request, operation)
  const prompts = targets.map((target) => promptTokensOf(tokens, request, target, operation))
  const prompt = Math.max(0, ...prompts)
  const windowMs = WINDOW_SECONDS * 1000
  return { key: `tokens-${account.userId}`, amount: prompt + reply, limit, windowMs, initial: 0 }
}

/** See docs/decisions/limits.md, "Concurrency is checked when the request is about to be sent". */
function slotEntry({ userId }: Account, limit: number) {
  return { key: `slots-${userId}`, amount: 1, limit, windowMs: null, initial: 0 }
}

/** Sets the headers with OpenAI's names and formats (docs/api.md, "Limits"). */
function setTokenHeaders(
  { res }: ReplyingExchange,
  { tokens }: UsageEntries,
  { counters }: HeldResult,
): void {
  const [use] = counters
  if (tokens === undefined || use === undefined) return
  res.setDefaultHeader('x-ratelimit-limit-tokens', String(tokens.limit))
  res.setDefaultHeader('x-ratelimit-remaining-tokens', String(remaining(tokens, use)))
  const resetMs = use.window === 0 ? WINDOW_SECONDS * 1000 : use.resetMs
  res.setDefaultHeader('x-ratelimit-reset-tokens', formatDuration(toRetryAfterSeconds(resetMs)))
}

function remaining({ limit }: { readonly limit: number }, { used, reserved }: CounterUse): number {
  return Math.max(limit - used - reserved, 0)
}

function tokensExceeded({ tokens }: UsageEntries, { counters, isTemporary }: HeldResult): GatewayError {
  const { amount = 0, limit = 0 } = tokens ?? {}
  const use = counters[0] ?? { used: 0, reserved: 0, resetMs: 0, window: 0 }
  if (amount > limit) {
    const message =
      `The request may use ${amount} tokens, its prompt and its longest possible reply; the limit is ` +
      `${limit} tokens per minute. Set max_tokens, or send a shorter prompt.`
    return rateLimitError('token_limit_exceeded', message).withHeader('x-should-retry', 'false')
  }
  const retryAfter = isTemporary ? 1 : toRetryAfterSeconds(use.resetMs)
  const message =
    `Limit of ${limit} tokens per minute exceeded: the request may use ${amount} tokens, ` +
    `${remaining({ limit }, use)} are left. ${retryAdvice(retryAfter)}`
  return rateLimitError('token_limit_exceeded', message, { retryAfter })
}

function concurrencyExceeded({ slot }: UsageEntries): GatewayError {
  const retryAfter = 1
  const message = `Limit of ${slot?.limit} requests at the same time exceeded. ${retryAdvice(retryAfter)}`
  return rateLimitError('concurrency_limit_exceeded', message, { retryAfter })
}

const USAGE_OUTCOMES = [
  'allowed',
  'refused_tokens',
  'refused_concurrency',
  'allowed_uncounted',
  'refused_uncounted',
] as const

function createUsageMetric(metrics: Registry) {
  const name = 'signalbox_usage_limit_outcomes_total'
  const help = 'Inference requests of users with a token or concurrency limit, by plan and outcome.'
  return createOutcomeCounter(metrics, { name, help }, 'plan', PLANS, USAGE_OUTCOMES)
}
