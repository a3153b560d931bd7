import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import type { ListedFacts, ListedPrices, PriceName } from './price-list.ts'

/** The ids of providers that are others in the catalogue. */
const PROVIDER_IDS: ReadonlyMap<string, string> = new Map([['google', 'gemini']])

/** models.dev's fields, in USD per million tokens. */
const FIELDS = [
  ['input', 'input'],
  ['cache_read', 'cached'],
  ['cache_write', 'cache_write'],
  ['output', 'output'],
] as const

/** Returns the models of models.dev's `api.json`, in any other file none. */
export function parseModelsDev(document: unknown): readonly ListedPrices[] {
  if (!isJsonObject(document)) return []
  return Object.entries(document).flatMap(([id, provider]) => {
    const models = isJsonObject(provider) && isJsonObject(provider.models) ? provider.models : {}
    return Object.entries(models).flatMap(([model, entry]) => {
      if (!isJsonObject(entry) || !isJsonObject(entry.cost)) return []
      const prices = parsePrices(entry.cost)
      if (!prices.has('input') || !prices.has('output')) return []
      return [{ provider: PROVIDER_IDS.get(id) ?? id, model, prices, facts: parseFacts(entry) }]
    })
  })
}

function parsePrices(cost: JsonObject): ReadonlyMap<PriceName, number> {
  const prices = new Map<PriceName, number>()
  for (const [field, name] of FIELDS) setPrice(prices, name, cost[field])
  setPrice(prices, 'reasoning', cost.reasoning)
  const [size, tier] = findTier(cost)
  if (tier === undefined) return prices
  prices.set('above', size)
  for (const [field, name] of FIELDS) setPrice(prices, `above ${name}`, tier[field])
  return prices
}

function setPrice(prices: Map<PriceName, number>, name: PriceName, value: unknown): void {
  if (typeof value === 'number' && value >= 0) prices.set(name, value)
}

/** The catalogue has one tier. */
function findTier({
  tiers,
  context_over_200k: over200k,
}: JsonObject): readonly [number, JsonObject | undefined] {
  for (const tier of Array.isArray(tiers) ? tiers : []) {
    if (isJsonObject(tier) && isJsonObject(tier.tier) && Number.isSafeInteger(tier.tier.size))
      return [Number(tier.tier.size), tier]
  }
  return [200_000, isJsonObject(over200k) ? over200k : undefined]
}

function parseFacts(entry: JsonObject): ListedFacts {
  const { modalities, limit, temperature, provider } = entry
  const { input, output } = isJsonObject(modalities) ? modalities : {}
  const { context, output: maxOutput } = isJsonObject(limit) ? limit : {}
  const integer = (value: unknown) => (Number.isSafeInteger(value) ? Number(value) : undefined)
  return {
    isChat: Array.isArray(output) && output.length === 1 && output[0] === 'text',
    isDeprecated: entry.status === 'deprecated',
    retires: undefined,
    context: integer(context),
    maxOutput: integer(maxOutput),
    tools: entry.tool_call === true,
    images: Array.isArray(input) && input.includes('image'),
    schema: entry.structured_output === true,
    reasoning: entry.reasoning === true,
    sampling: typeof temperature === 'boolean' ? temperature : undefined,
    responses: parseShape(isJsonObject(provider) ? provider.shape : undefined),
  }
}

/** The API of a model. For most models of OpenAI, models.dev says nothing. */
function parseShape(shape: unknown): ListedFacts['responses'] {
  if (shape === 'responses') return 'always'
  return shape === 'completions' ? false : undefined
}
