import { comparePrices } from '../prices/compare-prices.ts'
import { parsePriceList } from '../prices/parse-price-list.ts'
import { readSource } from '../prices/read-source.ts'
import { readSettings } from '../settings/settings.ts'
import { type CommandArgs, DifferencesError } from './command.ts'
import { formatPriceChanges } from './price-changes.ts'

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
