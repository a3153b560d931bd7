import { type ChatRequest, isJsonObject, type Usage } from '../contract/index.ts'

/** What a provider charges for a faster reply or for a region, compared with its usual price; at most. */
const FACTORS = { priority: 2, fast: 6, us: 1.1 }

interface PriceTerms {
  /** `service_tier` of OpenAI's format. */
  readonly tier?: unknown
  /** `speed` and `inference_geo` of Anthropic's. */
  readonly speed?: unknown
  readonly region?: unknown
}

/** See docs/decisions/cost.md, "What a caller can ask for has its price". */
export function toPriceFactor({ tier, speed, region }: PriceTerms): Pick<Usage, 'priceFactor'> {
  const factor =
    (tier === 'priority' ? FACTORS.priority : 1) *
    (speed === 'fast' ? FACTORS.fast : 1) *
    (region === 'us' ? FACTORS.us : 1)
  return factor === 1 ? {} : { priceFactor: factor }
}

/**
 * The factor that a request asks for: for bounds and estimates. What the reply says counts once it is there,
 * because a provider may have served other terms.
 */
export function askedPriceFactor({ service_tier, extra_content }: ChatRequest): Pick<Usage, 'priceFactor'> {
  const fields = extra_content?.anthropic?.fields
  if (!isJsonObject(fields)) return toPriceFactor({ tier: service_tier })
  return toPriceFactor({ tier: service_tier, speed: fields.speed, region: fields.inference_geo })
}

/** Whether parts of the prompt may be written to a cache for an hour, which Anthropic charges for. */
export function asksForHourCache({ messages, tools, extra_content }: ChatRequest): boolean {
  const fields = extra_content?.anthropic?.fields
  if (isForAnHour(fields) || tools?.some(isForAnHour)) return true
  return messages.some((message) => {
    const { content, tool_calls } = message
    if (isForAnHour(message) || tool_calls?.some(isForAnHour)) return true
    return Array.isArray(content) && content.some(isForAnHour)
  })
}

function isForAnHour(value: unknown): boolean {
  if (!isJsonObject(value)) return false
  const { cache_control, extra_content } = value
  if (isJsonObject(cache_control) && cache_control.ttl === '1h') return true
  return isJsonObject(extra_content) && isForAnHour(extra_content.anthropic)
}
