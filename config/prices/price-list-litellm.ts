import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { type ListedFacts, type ListedPrices, PRICE_NAMES, type PriceName } from './price-list.ts'

/** LiteLLM's fields, in USD per token. Those of tiers have a suffix such as `_above_200k_tokens`. */
const FIELDS: readonly (readonly [field: string, name: PriceName])[] = [
  ['input_cost_per_token', 'input'],
  ['cache_read_input_token_cost', 'cached'],
  ['cache_creation_input_token_cost', 'cache_write'],
  ['output_cost_per_token', 'output'],
  ['output_cost_per_reasoning_token', 'reasoning'],
]

/** Returns the language models of LiteLLM's `model_prices_and_context_window.json`, of other files none. */
export function parseLiteLlm(document: unknown): readonly ListedPrices[] {
  if (!isJsonObject(document)) return []
  return Object.entries(document).flatMap(([key, entry]) => {
    if (key === 'sample_spec' || !isJsonObject(entry) || !isTextModel(entry)) return []
    const { litellm_provider: provider } = entry
    if (typeof provider !== 'string') return []
    const model = key.startsWith(`${provider}/`) ? key.slice(provider.length + 1) : key
    const prices = parsePrices(entry)
    if (!prices.has('input') || !prices.has('output')) return []
    return [{ provider, model, prices, facts: parseFacts(entry) }]
  })
}

/** Entries without a mode are language models; others are for images, embeddings and the like. */
function isTextModel({ mode = 'chat' }: JsonObject): boolean {
  return mode === 'chat' || mode === 'responses' || mode === 'completion'
}

function parsePrices(entry: JsonObject): ReadonlyMap<PriceName, number> {
  const prices = new Map<PriceName, number>()
  for (const [field, name] of FIELDS) {
    const value = entry[field]
    if (isPriceNumber(value)) prices.set(name, perMillion(value))
  }
  for (const [field, value] of Object.entries(entry)) {
    const [, base, thousands] = /^(\w+?)_above_(\d+)k_tokens$/.exec(field) ?? []
    const name = FIELDS.find(([known]) => known === base)?.[1]
    const tiered = PRICE_NAMES.find((known) => known === `above ${name}`)
    if (tiered === undefined || !isPriceNumber(value)) continue
    prices.set('above', Number(thousands) * 1000)
    prices.set(tiered, perMillion(value))
  }
  return prices
}

function isPriceNumber(value: unknown): value is number {
  return typeof value === 'number' && value >= 0
}

/** Without the noise of binary fractions: 2.5e-7 × 1,000,000 is 0.25. */
function perMillion(usdPerToken: number): number {
  return Number((usdPerToken * 1e6).toPrecision(12))
}

function parseFacts(entry: JsonObject): ListedFacts {
  const { mode = 'chat', deprecation_date: date, supported_output_modalities: output } = entry
  const integer = (value: unknown) => (Number.isSafeInteger(value) ? Number(value) : undefined)
  const sampling = entry.supports_sampling_params
  return {
    isChat: (mode === 'chat' || mode === 'responses') && (!Array.isArray(output) || output.includes('text')),
    isDeprecated: false,
    retires: typeof date === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(date) ? date : undefined,
    // The limit of the input is at most the context.
    context: integer(entry.max_input_tokens),
    maxOutput: integer(entry.max_output_tokens),
    tools: entry.supports_function_calling === true,
    images: entry.supports_vision === true,
    schema: entry.supports_response_schema === true,
    reasoning: entry.supports_reasoning === true,
    sampling: typeof sampling === 'boolean' ? sampling : undefined,
    responses: mode === 'responses' ? 'always' : parseEndpoints(entry.supported_endpoints),
  }
}

/** Undefined if both APIs serve the model: the list does not say which one takes its tools. */
function parseEndpoints(endpoints: unknown): ListedFacts['responses'] {
  if (!Array.isArray(endpoints) || endpoints.includes('/v1/responses')) return undefined
  return false
}
