import { createCatalog } from '../../providers/shared/catalog.ts'
import { readSettings, type Settings } from '../settings/settings.ts'
import { type CommandArgs, DifferencesError } from './command.ts'
import { type ListedPrices, listCatalogPrices, type PriceName, readPriceList } from './price-list.ts'
import { formatColumns } from './table.ts'

/** A line of the comparison. */
interface Difference {
  /** `dearer` and `cheaper`: what the file says. */
  readonly change: 'dearer' | 'cheaper' | 'differs' | 'missing here' | 'missing there'
  readonly provider: string
  readonly model: string
  readonly price: PriceName | ''
  readonly here: number | undefined
  readonly there: number | undefined
}

/**
 * Compares the prices of the catalogue with those of a file. Prints every difference, and then throws a
 * `DifferencesError`.
 */
export async function checkModels({ operands, options, environment, print }: CommandArgs): Promise<void> {
  const [file = ''] = operands
  const { models } = readSettings(environment)
  const listed = readPriceList(file)
  const { differences, compared } = comparePrices(models, listed, !options.has('prices-only'))
  if (compared === 0) throw new Error(`${file} has none of the models of the catalogue.`)
  for (const line of formatTable(differences)) print(line)
  const summary = `Compared ${compared} models of the catalogue with ${file}.`
  print(differences.length === 0 ? `${summary} No differences.` : `\n${summary}`)
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
): { readonly differences: readonly Difference[]; readonly compared: number } {
  const catalog = createCatalog(models)
  const providers = new Set(models.map(({ provider }) => provider))
  const differences: Difference[] = []
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
): Difference {
  const [here, there] = change === 'missing there' ? [prices, undefined] : [undefined, prices]
  return { change, provider, model, price: '', here: here?.get('input'), there: there?.get('input') }
}

/** Prices that the file does not have are not compared, except the tier of long requests. */
function compareModel(
  { provider, model, prices: here }: ListedPrices,
  { prices: there }: ListedPrices,
): readonly Difference[] {
  const names = new Set<PriceName>([...there.keys(), ...(here.has('above') ? (['above'] as const) : [])])
  return [...names].flatMap((price) => {
    const [ours, theirs] = [here.get(price), there.get(price)]
    if (ours === theirs) return []
    return [{ change: changeOf(price, ours, theirs), provider, model, price, here: ours, there: theirs }]
  })
}

function changeOf(
  price: PriceName,
  here: number | undefined,
  there: number | undefined,
): Difference['change'] {
  if (price === 'above' || here === undefined || there === undefined) return 'differs'
  return there > here ? 'dearer' : 'cheaper'
}

const HEADINGS = ['CHANGE', 'PROVIDER', 'MODEL', 'PRICE', 'HERE', 'THERE', '']

/** One line for each difference, in columns. */
function formatTable(differences: readonly Difference[]): readonly string[] {
  if (differences.length === 0) return []
  return formatColumns([HEADINGS, ...differences.map(toCells)])
}

function toCells({ change, provider, model, price, here, there }: Difference): readonly string[] {
  const share = change === 'dearer' || change === 'cheaper' ? formatShare(here, there) : ''
  const name = price === '' ? 'input' : price
  return [change, provider, model, name, String(here ?? '-'), String(there ?? '-'), share]
}

function formatShare(here = 0, there = 0): string {
  if (here === 0) return ''
  const percent = Math.round((there / here - 1) * 1000) / 10
  return `${percent > 0 ? '+' : ''}${percent} %`
}
