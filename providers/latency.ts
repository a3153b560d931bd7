import { LRUCache } from 'lru-cache'
import type { Model, Target } from '../core/contract/index.ts'

/** How quick the targets have been lately. */
export interface Latency {
  /** A stream's first event came after `firstMs`. */
  sawFirst(target: Target, firstMs: number): void
  /** `tokens` of output came in `ms`. */
  sawTokens(target: Target, tokens: number, ms: number): void
  /** Milliseconds to a short answer: the catalogue's figure at first, then more and more what was seen. */
  expect(model: Model): number
}

/** Tokens of a short answer. */
const SHORT_ANSWER = 100

/** How much a new figure counts against all before it. */
const WEIGHT = 0.2

interface Averages {
  firstMs: number
  msPerToken: number
}

/** Exponentially weighted averages per target of time to first token and time per token. */
export function createLatency(): Latency {
  // Bounded, for names that are not catalogued come from callers.
  const seen = new LRUCache<string, Averages>({ max: 10_000 })

  function averagesOf({ provider, model, entry }: Target): Averages | undefined {
    if (entry === undefined) return undefined
    const key = `${provider}:${model}`
    const known = seen.get(key) ?? priorOf(entry)
    seen.set(key, known)
    return known
  }

  return {
    sawFirst(target, firstMs) {
      const averages = averagesOf(target)
      if (averages !== undefined) averages.firstMs += WEIGHT * (firstMs - averages.firstMs)
    },
    sawTokens(target, tokens, ms) {
      const averages = averagesOf(target)
      if (averages === undefined || tokens < 1) return
      averages.msPerToken += WEIGHT * (ms / tokens - averages.msPerToken)
    },
    expect(model) {
      const { firstMs, msPerToken } = seen.get(`${model.provider}:${model.id}`) ?? priorOf(model)
      return Math.max(firstMs + SHORT_ANSWER * msPerToken, 1)
    },
  }
}

/** The catalogue's figure, half of it before the first token. */
function priorOf({ latency_ms }: Model): Averages {
  return { firstMs: latency_ms / 2, msPerToken: latency_ms / 2 / SHORT_ANSWER }
}
