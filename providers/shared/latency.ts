import type { Model, Target } from '../../core/contract/index.ts'

/** How quick the targets have been lately. */
export interface LatencyTracker {
  /** A stream's first event came after `firstMs`. */
  recordFirstEvent(target: Target, firstMs: number): void
  /** After that, `tokens` of output came in `ms`. */
  recordRemainder(target: Target, tokens: number, ms: number): void
  /** A whole answer of `tokens` took `ms`. */
  recordWholeReply(target: Target, tokens: number, ms: number): void
  /** Milliseconds to a short answer: the catalogue's figure at first, then more and more what was seen. */
  estimateMs(model: Model): number
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
export function createLatencyTracker(): LatencyTracker {
  const seen = new Map<Model, Averages>()

  /** Of models that are not catalogued, whose names come from callers, nothing is kept. */
  function averagesOf({ entry }: Target): Averages | undefined {
    if (entry === undefined) return undefined
    const averages = seen.get(entry) ?? priorOf(entry)
    seen.set(entry, averages)
    return averages
  }

  return {
    recordFirstEvent(target, firstMs) {
      const averages = averagesOf(target)
      if (averages !== undefined) averages.firstMs += WEIGHT * (firstMs - averages.firstMs)
    },
    recordRemainder(target, tokens, ms) {
      const averages = averagesOf(target)
      if (averages === undefined || tokens < 1) return
      averages.msPerToken += WEIGHT * (ms / tokens - averages.msPerToken)
    },
    recordWholeReply(target, tokens, ms) {
      const averages = averagesOf(target)
      if (averages === undefined || tokens < 1) return
      // Nobody saw the first token come: both figures were off by the same factor.
      const factor = ms / (averages.firstMs + tokens * averages.msPerToken)
      averages.firstMs *= 1 + WEIGHT * (factor - 1)
      averages.msPerToken *= 1 + WEIGHT * (factor - 1)
    },
    estimateMs(model) {
      const { firstMs, msPerToken } = seen.get(model) ?? priorOf(model)
      return Math.max(firstMs + SHORT_ANSWER * msPerToken, 1)
    },
  }
}

/** The catalogue's figure, half of it before the first token. */
function priorOf({ latency_ms }: Model): Averages {
  return { firstMs: latency_ms / 2, msPerToken: latency_ms / 2 / SHORT_ANSWER }
}
