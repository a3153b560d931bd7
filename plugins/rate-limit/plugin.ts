import type { Logger } from 'pino'
import { type GatewayContext, GatewayError, type Plugin } from '../../core/contract/index.ts'
import { chain, type MaybePromise } from '../../core/soon.ts'
import type { RequestCount, RequestCounter } from './counter.ts'
import { setLimitHeaders, wholeSeconds } from './headers.ts'
import { createMemoryCounter } from './memory-counter.ts'
import { createOutcomeCounter, type LimitOutcome } from './outcomes.ts'
import { limitOf, type RateLimitSettings } from './settings.ts'
import { WINDOW_SECONDS } from './window.ts'

/** Where requests are counted: in the Redis at `redisUrl`, else by `shared` for several processes, else in this one. */
export interface CounterChoice {
  readonly redisUrl: string | undefined
  readonly shared: RequestCounter | undefined
}

/** Requests per minute and user, on everything that needs an API key (interface: "Limits"). */
export function createRateLimit(settings: RateLimitSettings, choice: CounterChoice): Plugin {
  return {
    name: 'rate-limit',
    after: ['auth'],
    applies: 'all',
    needs: 'headers',
    async setup(_, { logger, metrics }) {
      const counter = await openCounter(settings, choice, logger)
      const note = createOutcomeCounter(metrics)
      return {
        middleware: (ctx, next) =>
          chain(judge(ctx, counter, settings), (outcome) => {
            note(ctx.account.plan, outcome.type)
            if (outcome.refusal !== undefined) throw outcome.refusal
            return next()
          }),
        close: counter.close,
      }
    },
  }
}

async function openCounter(
  { redis_timeout_ms }: RateLimitSettings,
  { redisUrl: url, shared }: CounterChoice,
  logger: Logger,
): Promise<RequestCounter> {
  if (url === undefined) return shared ?? createMemoryCounter(WINDOW_SECONDS)
  const { openRedisCounter } = await import('./redis-counter.ts')
  return openRedisCounter({ url, timeoutMs: redis_timeout_ms, windowSeconds: WINDOW_SECONDS }, logger)
}

interface Outcome {
  readonly type: LimitOutcome
  readonly refusal?: GatewayError
}

const UNLIMITED: Outcome = { type: 'unlimited' }
const ALLOWED: Outcome = { type: 'allowed' }
const OPEN: Outcome = { type: 'open' }

/** Counts the request and says on the answer what is left. */
function judge(
  ctx: GatewayContext,
  counter: RequestCounter,
  settings: RateLimitSettings,
): MaybePromise<Outcome> {
  const { account } = ctx
  const limit = limitOf(account, settings)
  if (limit === null) return UNLIMITED
  const compare = (count: RequestCount): Outcome => {
    setLimitHeaders(ctx, limit, count)
    return count.used > limit ? { type: 'refused', refusal: overLimit(limit, count) } : ALLOWED
  }
  // A store that is away says so in the log by itself, once and not per request.
  const uncounted = (): Outcome =>
    settings.without_redis[account.plan] === 'open' ? OPEN : { type: 'closed', refusal: notCounted() }
  const count = counter.count(account.userId)
  return count instanceof Promise ? count.then(compare, uncounted) : compare(count)
}

function overLimit(limit: number, { resetMs }: RequestCount): GatewayError {
  const retryAfter = wholeSeconds(resetMs)
  const message = `Over the limit of ${limit} requests per minute. Try again in ${retryAfter} seconds.`
  return new GatewayError('rate_limit_exceeded', message, { retryAfter })
}

function notCounted(): GatewayError {
  const message = 'Requests cannot be counted at the moment, so none is let through. Try again.'
  return new GatewayError('rate_limit_unavailable', message, { retryAfter: 1 })
}
