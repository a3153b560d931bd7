import { createCatalog } from '../../providers/shared/catalog.ts'
import { readSettings, type Settings } from '../settings/settings.ts'
import { type CommandArgs, DifferencesError } from './command.ts'
import { parsePriceList } from './parse-price-list.ts'
import { comparePrice, formatPriceChanges, type PriceChange } from './price-changes.ts'
import { type ListedPrices, listCatalogPrices, type PriceName } from './price-list.ts'
import { readSource } from './read-source.ts'

/**
 * Compares the prices of the catalogue with those of a file. Prints every difference, and then throws a
 * `DifferencesError`.
 */
export async function checkModels({ operands, options, environment, print }: CommandArgs): Promise<void> {
  const [file = ''] = operands
  const { models } = readSettings(environment)
  const { name, text } = await readSource(file)
  const listed = parsePriceList(text, name)
  const { differences, compared } = comparePrices(models, listed, !options.has('prices-only'))
  if (compared === 0) throw new Error(`${name} has none of the models of the catalogue.`)
  const summary = `Compared ${compared} models of the catalogue with ${name}.`
  if (options.has('json')) print(JSON.stringify(differences))
  else {
    for (const line of formatPriceChanges(differences)) print(line)
    print(differences.length === 0 ? `${summary} No differences.` : `\n${summary}`)
  }
  if (differences.length > 0) throw new DifferencesError(`${countOf(differences.length)} found.`)
}

function countOf(differences: number): string {
  return differences === 1 ? '1 difference' : `${differences} differences`
}

/** Models that are on one side only are reported for providers of the catalogue. */
function comparePrices(
  models: Settings['models'],
  listed: readonly ListedPrices[],
  includesMissing: boolean,
): { readonly differences: readonly PriceChange[]; readonly compared: number } {
  const catalog = createCatalog(models)
  const providers = new Set(models.map(({ provider }) => provider))
  const differences: PriceChange[] = []
  const byModel = new Map<Settings['models'][number], ListedPrices>()
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
function compareModel(
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
