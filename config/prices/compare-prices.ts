import type { Model } from '../../core/contract/index.ts'
import { createCatalog } from '../../providers/shared/catalog.ts'
import { type ListedPrices, listCatalogPrices, type PriceName } from './price-list.ts'

/** A line of a comparison of the catalogue with a list of prices. */
export interface PriceChange {
  /** `dearer` and `cheaper`: what the list says. */
  readonly change: string
  readonly provider: string
  readonly model: string
  readonly price: PriceName | ''
  /** In the catalogue. */
  readonly here?: number | undefined
  /** In the list. A text instead of a price explains the change. */
  readonly there?: number | string | undefined
}

export function comparePrice(price: PriceName, here: number | undefined, there: number | undefined) {
  if (price === 'above' || here === undefined || there === undefined) return 'differs'
  return there > here ? 'dearer' : 'cheaper'
}

/** The differences between the catalogue and a list, and how many models were compared. */
export interface PriceComparison {
  readonly differences: readonly PriceChange[]
  readonly compared: number
}

/** Models that are on one side only are reported for providers of the catalogue. */
export function comparePrices(
  models: readonly Model[],
  listed: readonly ListedPrices[],
  includesMissing: boolean,
): PriceComparison {
  const catalog = createCatalog(models)
  const providers = new Set(models.map(({ provider }) => provider))
  const differences: PriceChange[] = []
  const byModel = new Map<Model, ListedPrices>()
  for (const entry of listed) {
    const model = catalog.find(entry.model, entry.provider)
    if (model === undefined) {
      if (providers.has(entry.provider)) differences.push(missing('missing here', entry))
    } else if (!byModel.has(model) || entry.model === model.id) {
      // A file may list a model under several names; its own name counts.
      byModel.set(model, entry)
    }
  }
  for (const model of models) {
    const here = listCatalogPrices(model)
    const there = byModel.get(model)
    if (there === undefined) differences.push(missing('missing there', here))
    else differences.push(...compareModel(here, there))
  }
  return {
    differences: includesMissing ? differences : differences.filter(({ price }) => price !== ''),
    compared: byModel.size,
  }
}

function missing(
  change: 'missing here' | 'missing there',
  { provider, model, prices }: ListedPrices,
): PriceChange {
  const [here, there] = change === 'missing there' ? [prices, undefined] : [undefined, prices]
  return { change, provider, model, price: '', here: here?.get('input'), there: there?.get('input') }
}

/** Prices that the file does not have are not compared, except the tier of long requests. */
export function compareModel(
  { provider, model, prices: here }: ListedPrices,
  { prices: there }: ListedPrices,
): readonly PriceChange[] {
  const names = new Set<PriceName>([...there.keys(), ...(here.has('above') ? (['above'] as const) : [])])
  return [...names].flatMap((price) => {
    const [ours, theirs] = [here.get(price), there.get(price)]
    if (ours === theirs) return []
    return [{ change: comparePrice(price, ours, theirs), provider, model, price, here: ours, there: theirs }]
  })
}
