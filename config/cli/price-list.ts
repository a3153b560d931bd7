import { readFileSync } from 'node:fs'
import { isJsonObject, type JsonObject, type Model, type Price } from '../../core/contract/index.ts'
import { parseJson } from '../../core/util/json.ts'
import { readYaml } from '../settings/read-yaml.ts'

/** A price in USD per million tokens, or `above`: the input tokens from which the prices `above …` apply. */
const PRICE_NAMES = [
  'input',
  'cached',
  'cache_write',
  'output',
  'reasoning',
  'above',
  'above input',
  'above cached',
  'above cache_write',
  'above output',
] as const

export type PriceName = (typeof PRICE_NAMES)[number]

/** The prices of a model. A price that a list does not have is unknown. */
export interface ListedPrices {
  readonly provider: string
  /** A name of the model at the provider. */
  readonly model: string
  readonly prices: ReadonlyMap<PriceName, number>
}

/** Returns the prices of a row of the catalogue. Prices that it leaves out are those of input and output. */
export function listCatalogPrices({ provider, id, price }: Pick<Model, 'provider' | 'id' | 'price'>) {
  const prices = new Map<PriceName, number>([...listPrices(price), ['reasoning', price.output]])
  if (price.above !== undefined) {
    prices.set('above', price.above.input_tokens)
    for (const [name, value] of listPrices(price.above)) prices.set(`above ${name}`, value)
  }
  return { provider, model: id, prices } satisfies ListedPrices
}

function listPrices({ input, cached = input, cache_write = input, output }: Price) {
  return Object.entries({ input, cached, cache_write, output }) as [
    'input' | 'cached' | 'cache_write' | 'output',
    number,
  ][]
}

/**
 * Reads a list of prices, JSON or YAML: rows like those of `config/models.yaml`, as a list or under `models`,
 * or LiteLLM's `model_prices_and_context_window.json`. Throws if it is neither.
 */
export function readPriceList(file: string): readonly ListedPrices[] {
  const issues: string[] = []
  const document = parseJson(readText(file)) ?? readYaml(file, issues)
  if (issues.length > 0) throw new Error(`${issues.join('; ')}.`)
  const rows = isJsonObject(document) && Array.isArray(document.models) ? document.models : document
  const prices = Array.isArray(rows) ? readRows(file, rows) : readLiteLlm(rows)
  if (prices.length > 0) return prices
  throw new Error(
    `${file} has no prices. It must be a list of rows with provider, id and price, as in models.yaml, or ` +
      "LiteLLM's model_prices_and_context_window.json.",
  )
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${file} cannot be read: ${error instanceof Error ? error.message : error}.`)
  }
}

function readRows(file: string, rows: readonly unknown[]): readonly ListedPrices[] {
  return rows.map((row, index) => {
    const { provider, id, price } = isJsonObject(row) ? row : {}
    if (typeof provider === 'string' && typeof id === 'string' && isPrice(price))
      return listCatalogPrices({ provider, id, price })
    const message = `row ${index + 1} needs provider, id, and price with input and output as numbers`
    throw new Error(`${file}: ${message}.`)
  })
}

function isPrice(value: unknown): value is Model['price'] {
  if (!isJsonObject(value) || typeof value.input !== 'number' || typeof value.output !== 'number')
    return false
  const { above, ...prices } = value
  if (Object.values(prices).some((price) => typeof price !== 'number')) return false
  return (
    above === undefined || (isJsonObject(above) && Number.isInteger(above.input_tokens) && isPrice(above))
  )
}

/** LiteLLM's fields, in USD per token. Those of tiers have a suffix such as `_above_200k_tokens`. */
const LITELLM_FIELDS: readonly (readonly [field: string, name: PriceName])[] = [
  ['input_cost_per_token', 'input'],
  ['cache_read_input_token_cost', 'cached'],
  ['cache_creation_input_token_cost', 'cache_write'],
  ['output_cost_per_token', 'output'],
  ['output_cost_per_reasoning_token', 'reasoning'],
]

function readLiteLlm(document: unknown): readonly ListedPrices[] {
  if (!isJsonObject(document)) return []
  return Object.entries(document).flatMap(([key, entry]) => {
    if (key === 'sample_spec' || !isJsonObject(entry) || !isTextModel(entry)) return []
    const { litellm_provider: provider } = entry
    if (typeof provider !== 'string') return []
    const model = key.startsWith(`${provider}/`) ? key.slice(provider.length + 1) : key
    const prices = readLiteLlmPrices(entry)
    return prices.has('input') && prices.has('output') ? [{ provider, model, prices }] : []
  })
}

/** Entries without a mode are language models; others are for images, embeddings and the like. */
function isTextModel({ mode = 'chat' }: JsonObject): boolean {
  return mode === 'chat' || mode === 'responses' || mode === 'completion'
}

function readLiteLlmPrices(entry: JsonObject): ReadonlyMap<PriceName, number> {
  const prices = new Map<PriceName, number>()
  for (const [field, name] of LITELLM_FIELDS) {
    const value = entry[field]
    if (typeof value === 'number') prices.set(name, perMillion(value))
  }
  for (const [field, value] of Object.entries(entry)) {
    const [, base, thousands] = /^(\w+?)_above_(\d+)k_tokens$/.exec(field) ?? []
    const name = LITELLM_FIELDS.find(([known]) => known === base)?.[1]
    const tiered = PRICE_NAMES.find((known) => known === `above ${name}`)
    if (tiered === undefined || typeof value !== 'number') continue
    prices.set('above', Number(thousands) * 1000)
    prices.set(tiered, perMillion(value))
  }
  return prices
}

/** Without the noise of binary fractions: 2.5e-7 × 1,000,000 is 0.25. */
function perMillion(usdPerToken: number): number {
  return Number((usdPerToken * 1e6).toPrecision(12))
}
