import { type Model, service, type Target } from '../../core/contract/index.ts'

/** Estimates the latency of models, in milliseconds (docs/guides/routing.md, "Automatic choice"). */
export interface LatencyTracker {
  /** Records that the first event of a stream arrived after `firstMs`. */
  recordFirstEvent(target: Target, firstMs: number): void
  /** Records that the `tokens` of output after the first event took `ms`. */
  recordRemainder(target: Target, tokens: number, ms: number): void
  /** Records that a whole reply of `tokens` took `ms`. */
  recordWholeReply(target: Target, tokens: number, ms: number): void
  /** The expected time of a reply of 100 tokens. Starts with the figure in the catalogue. */
  estimateMs(model: Model): number
}

export const LatencyTracker = service<LatencyTracker>('latency')

const ESTIMATED_TOKENS = 100

/** The weight of a new measurement in the moving average. */
const WEIGHT = 0.2

interface Averages {
  firstMs: number
  msPerToken: number
}

/**
 * Keeps exponentially weighted averages of the time to the first token and the time per token, per model. See
 * docs/decisions/routing.md, "A whole answer scales both latency estimates".
 */
export function createLatencyTracker(): LatencyTracker {
  const measured = new Map<Model, Averages>()

  /**
   * Undefined for models without a row in the catalogue: their names come from callers, so nothing is kept.
   */
  function averagesOf({ entry }: Target): Averages | undefined {
    if (entry === undefined) return undefined
    const averages = measured.get(entry) ?? initialAverages(entry)
    measured.set(entry, averages)
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
      // The time of the first token is unknown, so both averages are scaled by the same factor.
      const factor = ms / (averages.firstMs + tokens * averages.msPerToken)
      averages.firstMs *= 1 + WEIGHT * (factor - 1)
      averages.msPerToken *= 1 + WEIGHT * (factor - 1)
    },
    estimateMs(model) {
      const { firstMs, msPerToken } = measured.get(model) ?? initialAverages(model)
      return Math.max(firstMs + ESTIMATED_TOKENS * msPerToken, 1)
    },
  }
}

/** Attributes half of the catalogue's figure to the first token, the other half to the rest. */
function initialAverages({ latency_ms }: Model): Averages {
  return { firstMs: latency_ms / 2, msPerToken: latency_ms / 2 / ESTIMATED_TOKENS }
}
