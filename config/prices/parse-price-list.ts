import { load } from 'js-yaml'
import { isJsonObject, type Model } from '../../core/contract/index.ts'
import { parseJson } from '../../core/util/json.ts'
import { type ListedPrices, listCatalogPrices } from './price-list.ts'
import { parseLiteLlm } from './price-list-litellm.ts'
import { parseModelsDev } from './price-list-models-dev.ts'

/**
 * Parses a list of prices, JSON or YAML: rows like those of `config/models.yaml`, as a list or under
 * `models`, models.dev's `api.json`, or LiteLLM's `model_prices_and_context_window.json`. Throws if it is
 * none of them.
 */
export function parsePriceList(text: string, source: string): readonly ListedPrices[] {
  const document = parseJson(text) ?? parseYaml(text, source)
  const rows = isJsonObject(document) && Array.isArray(document.models) ? document.models : document
  const prices = Array.isArray(rows)
    ? readRows(source, rows)
    : [...parseModelsDev(rows), ...parseLiteLlm(rows)]
  if (prices.length > 0) return prices
  throw new Error(
    `${source} has no prices. It must be models.dev's api.json, LiteLLM's ` +
      'model_prices_and_context_window.json, or a list of rows with provider, id and price, as in ' +
      'models.yaml.',
  )
}

function parseYaml(text: string, source: string): unknown {
  try {
    return load(text)
  } catch {
    throw new Error(`${source} is not valid YAML or JSON.`)
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
