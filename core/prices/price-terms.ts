import { type ChatRequest, isJsonObject, type JsonObject, type Usage } from '../contract/index.ts'

/** What Anthropic charges for speed or for a region, compared with its usual price; at most. */
const FACTORS = { fast: 6, us: 1.1 }

/** What decides about the price of a reply besides its tokens. */
type PriceTerms = Pick<Usage, 'tier' | 'toolCalls' | 'priceFactor'>

/** `speed` and `inference_geo` of Anthropic's format. */
export function toPriceFactor(speed: unknown, region: unknown): Pick<PriceTerms, 'priceFactor'> {
  const factor = (speed === 'fast' ? FACTORS.fast : 1) * (region === 'us' ? FACTORS.us : 1)
  return factor === 1 ? {} : { priceFactor: factor }
}

/** The names of the usual tier, at the providers that have others. */
const USUAL_TIERS: ReadonlySet<string> = new Set([
  'default',
  'standard',
  'standard_only',
  'on_demand',
  'unspecified',
])

/** The service tier of a request or a reply, in any format. `auto` is known in requests only. */
export function toTier(value: unknown): Pick<PriceTerms, 'tier'> {
  if (typeof value !== 'string' || value === '') return {}
  const tier = value.toLowerCase().replace('service_tier_', '')
  return USUAL_TIERS.has(tier) ? {} : { tier }
}

/** As `toTier`, for replies: some providers repeat what was asked for. */
export function toServedTier(value: unknown): Pick<PriceTerms, 'tier'> {
  return value === 'auto' ? {} : toTier(value)
}

/** No reply has more calls: what a provider reports beyond is an error of its own. */
const MAX_CALLS = 1_000_000

/**
 * Calls of tools that the provider ran, by the names of the fees. Counts are named as by the providers:
 * `web_search_requests`, `web_search_calls`, or `web_search`.
 */
export function toToolCalls(...counts: readonly unknown[]): Pick<PriceTerms, 'toolCalls'> {
  let toolCalls: Record<string, number> | undefined
  for (const each of counts) {
    if (!isJsonObject(each)) continue
    for (const [field, count] of Object.entries(each)) {
      if (typeof count !== 'number' || !(count > 0)) continue
      const name = field.replace(/_(requests|calls?)$/, '')
      toolCalls ??= {}
      const known = Object.hasOwn(toolCalls, name) ? (toolCalls[name] ?? 0) : 0
      toolCalls[name] = Math.min(MAX_CALLS, known + Math.ceil(count))
    }
  }
  return toolCalls === undefined ? {} : { toolCalls }
}

/** For a search tool without a limit of its own. */
const MAX_SEARCHES = 30

/**
 * What a request asks for: for bounds and estimates. What the reply says counts once it is there, because a
 * provider may have served other terms.
 */
export function askedTerms(request: ChatRequest): PriceTerms {
  const { service_tier, extra_content } = request
  const fields = extra_content?.anthropic?.fields
  const { speed, inference_geo, service_tier: ownTier } = isJsonObject(fields) ? fields : {}
  return {
    ...toTier(service_tier ?? ownTier),
    ...toPriceFactor(speed, inference_geo),
    ...toToolCalls(askedSearches(request)),
  }
}

/** See docs/decisions/limits.md, "What a request may use". */
function askedSearches({ tools, web_search_options }: ChatRequest): JsonObject | undefined {
  let web_search = 0
  for (const { extra_content } of tools ?? []) {
    const { type, max_uses } = extra_content?.anthropic ?? {}
    if (typeof type === 'string' && type.startsWith('web_search'))
      web_search += typeof max_uses === 'number' ? max_uses : MAX_SEARCHES
  }
  const web_search_preview = web_search_options == null ? 0 : 1
  return web_search + web_search_preview === 0 ? undefined : { web_search, web_search_preview }
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
