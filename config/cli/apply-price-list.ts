import type { Model, Price } from '../../core/contract/index.ts'
import { type Catalog, createCatalog, isRetired, withoutDate } from '../../providers/shared/catalog.ts'
import { comparePrice, type PriceChange } from '../prices/compare-prices.ts'
import { type ListedPrices, listCatalogPrices, PRICE_NAMES, type PriceName } from '../prices/price-list.ts'
import { findNewQuirks } from './new-model-quirks.ts'

/** A change of a price by more than this factor, or to 0, is taken for a mistake of the list. */
const MAX_FACTOR = 10

interface AppliedList {
  /** All rows, with the changes. */
  readonly models: readonly Model[]
  readonly changes: readonly PriceChange[]
}

/**
 * Applies a list of prices to rows of the catalogue: prices and retirements of models that have a row, and
 * new models of their providers. Leaves alone what the list does not have. `acceptsAll`: prices that look
 * like mistakes, too.
 */
export function applyPriceList(
  rows: readonly Model[],
  listed: readonly ListedPrices[],
  acceptsAll: boolean,
): AppliedList {
  const catalog = createCatalog(rows)
  const entries = chooseEntries(catalog, listed)
  const models = new Map(rows.map((row) => [row, row]))
  const added: Model[] = []
  const changes: PriceChange[] = []
  for (const entry of listed) {
    const row = catalog.match(entry.model, entry.provider)
    if (row === undefined) {
      const outcome = isNewModel(entry, rows, listed) ? addModel(entry, rows, acceptsAll) : undefined
      if (outcome?.model) added.push(outcome.model)
      if (outcome) changes.push(outcome.change)
    } else if (entries.get(row.model) === entry) {
      const outcome = changeModel(row.model, entry, acceptsAll)
      models.set(row.model, outcome.model)
      changes.push(...outcome.changes)
    }
  }
  return { models: [...models.values(), ...added], changes }
}

/** A list may have a model under several names; its own name counts. Dated names may have other prices. */
function chooseEntries(catalog: Catalog, listed: readonly ListedPrices[]): ReadonlyMap<Model, ListedPrices> {
  const entries = new Map<Model, ListedPrices>()
  for (const entry of listed) {
    const match = catalog.match(entry.model, entry.provider)
    if (match === undefined || match.isDated) continue
    if (!entries.has(match.model) || entry.model === match.model.id) entries.set(match.model, entry)
  }
  return entries
}

function changeModel(row: Model, { model: name, prices, facts }: ListedPrices, acceptsAll: boolean) {
  const { provider, id: model } = row
  const here = listCatalogPrices(row).prices
  const accepted = new Map(here)
  const changes: PriceChange[] = []
  for (const price of PRICE_NAMES) {
    const [ours, theirs] = [here.get(price), prices.get(price)]
    // The catalogue has no price of reasoning: it is output.
    if (theirs === undefined || theirs === ours || price === 'reasoning') continue
    const isRefused = !acceptsAll && isMistake(price, ours, theirs)
    if (!isRefused) accepted.set(price, theirs)
    const change = isRefused ? 'refused' : comparePrice(price, ours, theirs)
    changes.push({ change, provider, model, price, here: ours, there: theirs })
  }
  const isPriced = changes.some(({ change }) => change !== 'refused')
  const changed = isPriced ? { ...row, price: toPrice(row.price, accepted, here) } : row
  if (name !== row.id || facts === undefined) return { model: changed, changes }
  const { retires, isDeprecated } = facts
  if (retires !== undefined && retires !== row.retires) {
    const change = isRetired({ retires }) ? 'retired' : 'retires'
    changes.push({ change, provider, model, price: '', there: retires })
    return { model: { ...changed, retires }, changes }
  }
  if (!isDeprecated || row.automatic === false || isRetired(row)) return { model: changed, changes }
  changes.push({ change: 'deprecated', provider, model, price: '', there: '' })
  return { model: { ...changed, automatic: false }, changes }
}

function isMistake(price: PriceName, here: number | undefined, there: number): boolean {
  if (price === 'above' || here === undefined || here === 0) return false
  return there === 0 || there / here > MAX_FACTOR || here / there > MAX_FACTOR
}

/** Keeps prices that the row leaves out, unless they change. */
function toPrice(
  current: Model['price'],
  prices: ReadonlyMap<PriceName, number>,
  before: ReadonlyMap<PriceName, number>,
): Model['price'] {
  const pick = (tier: '' | 'above ', kept: Partial<Price>): Price => {
    const pickOptional = (name: 'cached' | 'cache_write') => {
      const value = prices.get(`${tier}${name}`)
      const isChanged = value !== before.get(`${tier}${name}`)
      return value !== undefined && (isChanged || kept[name] !== undefined) ? { [name]: value } : {}
    }
    return {
      input: prices.get(`${tier}input`) ?? 0,
      ...pickOptional('cached'),
      ...pickOptional('cache_write'),
      output: prices.get(`${tier}output`) ?? 0,
    }
  }
  const above = prices.get('above')
  const isComplete = prices.has('above input') && prices.has('above output')
  return {
    ...pick('', current),
    ...(above !== undefined &&
      isComplete && { above: { input_tokens: above, ...pick('above ', current.above ?? {}) } }),
  }
}

/** Names with a date belong to a model without one. */
function isNewModel(
  { provider, model, facts }: ListedPrices,
  rows: readonly Model[],
  listed: readonly ListedPrices[],
): boolean {
  if (!facts?.isChat || facts.isDeprecated || isRetired({ ...(facts.retires && { retires: facts.retires }) }))
    return false
  // What only OpenAI's Responses API serves can be asked nowhere else.
  if (facts.responses === 'always' && provider !== 'openai') return false
  if (model.startsWith('ft:') || !rows.some((row) => row.provider === provider)) return false
  const undated = withoutDate(model)
  return undated === model || !listed.some((entry) => entry.provider === provider && entry.model === undated)
}

/** New models can be named. The operator decides whether they are chosen automatically. */
function addModel(entry: ListedPrices, rows: readonly Model[], acceptsAll: boolean) {
  const { provider, model: id, prices, facts } = entry
  const [input = 0, output = 0] = [prices.get('input'), prices.get('output')]
  const change = { provider, model: id, price: '' as const, there: input }
  const { context, maxOutput, retires, reasoning = false, sampling } = facts ?? {}
  if (!context || !maxOutput || facts === undefined)
    return { change: { ...change, change: 'incomplete', there: '' } }
  if (!acceptsAll && (input === 0 || output === 0)) return { change: { ...change, change: 'refused' } }
  const { quality, latency_ms } = findSimilarModel(rows, provider, output)
  const isOpenAiReasoning = provider === 'openai' && reasoning
  const model: Model = {
    id,
    provider,
    aliases: [],
    context,
    max_output: maxOutput,
    price: toPrice({ input, output }, prices, new Map()),
    quality,
    latency_ms,
    capabilities: { tools: facts.tools, images: facts.images, json: facts.schema ? 'schema' : 'none' },
    reasoning: isOpenAiReasoning,
    sampling: sampling ?? !isOpenAiReasoning,
    quirks: findNewQuirks(rows, entry),
    automatic: false,
    ...(retires !== undefined && { retires }),
  }
  return { model, change: { ...change, change: 'new' } }
}

/** The model of the provider with the nearest price. Its quality and latency are a first estimate. */
function findSimilarModel(rows: readonly Model[], provider: string, output: number): Model {
  const distance = ({ price }: Model) => Math.abs(Math.log((price.output + 0.01) / (output + 0.01)))
  return rows
    .filter((row) => row.provider === provider)
    .reduce((best, row) => (distance(row) < distance(best) ? row : best))
}
