import {
  type EndedExchange,
  type ErrorCode,
  GatewayError,
  ReplyEvent,
  type Target,
  type Usage,
} from '../../core/contract/index.ts'
import { UsageRecorder } from '../../core/pipeline/usage-recorder.ts'
import type { Random } from '../../core/util/random.ts'
import { noteLookup } from '../../plugins/cache/index.ts'
import type { Topic } from './prompts.ts'

/** What became of a request that no rule refused. */
export interface DemoReply {
  readonly error: GatewayError | undefined
  readonly latencyMs: number
}

/** Shares of calls to providers, and of requests. */
const FAILED_CALLS = 0.012
const CACHE_HITS = 0.09
const CACHED_PROMPTS = 0.35

const CALL_ERRORS = [
  { share: 50, code: 'provider_rate_limited', ms: 180 },
  { share: 35, code: 'provider_error', ms: 900 },
  { share: 15, code: 'provider_timeout', ms: 30_000 },
] as const

type CostOf = ConstructorParameters<typeof UsageRecorder>[1]

/**
 * Adds to a decided exchange what dispatching it would: attempts, target, usage and cost. `load`: how busy
 * the providers are; 1 is the usual.
 */
export function addDemoReply(
  exchange: EndedExchange,
  { tokens }: Topic,
  load: number,
  random: Random,
  costOf: CostOf,
): DemoReply {
  const [input, output] = tokens.map((usual) => Math.ceil(usual * random.spread())) as [number, number]
  const isHit = exchange.request.stream !== true && random.chance(CACHE_HITS)
  noteLookup(exchange, isHit)
  const { targets = [], isFixed = false } = exchange.route ?? {}
  // A fixed model is tried twice, like live.
  const tries = isFixed ? [...targets, ...targets] : targets.slice(0, 3)
  const isOut = random.chance(0.004)
  let latencyMs = 4 + random.integer(9)
  Object.assign(exchange, { decidedAt: latencyMs })
  if (isHit) {
    exchange.target = targets[0] as Target
    recordReply(exchange, { input, output }, costOf)
    return { error: undefined, latencyMs }
  }
  let code: ErrorCode = 'no_providers_available'
  for (const target of tries) {
    const failure = isOut || random.chance(FAILED_CALLS) ? random.weighted(CALL_ERRORS) : undefined
    const ms = Math.round(failure ? failure.ms * random.spread() : replyMs(target, output, load, random))
    const isStream = exchange.request.stream === true
    const firstMs = isStream && !failure ? Math.round(ms * 0.3) : ms
    exchange.attempts.push({ target, outcome: failure?.code ?? 'ok', startedAt: latencyMs, ms: firstMs })
    latencyMs += ms
    if (failure === undefined) {
      exchange.target = target
      recordReply(exchange, { input, output, ...cachedPart(input, random) }, costOf)
      return { error: undefined, latencyMs }
    }
    if (isFixed) code = failure.code
  }
  const message = isFixed ? 'The provider failed.' : 'Every provider that supports this request failed.'
  return { error: new GatewayError(code, message), latencyMs }
}

/** The latency in the catalogue is that of a short reply. */
function replyMs({ entry }: Target, output: number, load: number, random: Random): number {
  const usual = entry?.latency_ms ?? 2000
  return usual * (0.25 + Math.min(output, 2000) / 700) * load * random.spread()
}

function cachedPart(input: number, random: Random): Pick<Usage, 'cached'> {
  return input > 1024 && random.chance(CACHED_PROMPTS)
    ? { cached: Math.floor((input * 0.8) / 128) * 128 }
    : {}
}

function recordReply(exchange: EndedExchange, usage: Usage, costOf: CostOf): void {
  const recorder = new UsageRecorder(exchange, costOf)
  recorder.record(
    new ReplyEvent([
      { type: 'usage', usage },
      { type: 'finish', reason: 'stop' },
    ]),
  )
  recorder.complete()
}
