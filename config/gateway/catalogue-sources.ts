import type { Model } from '../../core/contract/index.ts'
import type { CatalogueSources } from '../../plugins/models/catalogue-endpoints.ts'
import type { ShownDifference } from '../../plugins/models/catalogue-schemas.ts'
import { compareModel, comparePrices, type PriceChange } from '../prices/compare-prices.ts'
import { parsePriceList } from '../prices/parse-price-list.ts'
import { listCatalogPrices } from '../prices/price-list.ts'
import { nameSource, readSource } from '../prices/read-source.ts'
import { readShippedModels, readUpdatedModels, readUpdateNote } from '../settings/model-list.ts'
import type { Settings } from '../settings/settings.ts'
import { SettingsError } from '../settings/settings-error.ts'

const keyOf = ({ provider, id }: Pick<Model, 'provider' | 'id'>) => `${provider}:${id}`

/** Tells where rows of the catalogue come from, and compares it with the list of the settings. */
export function createCatalogueSources(
  settings: Pick<Settings, 'data_dir' | 'ownModels' | 'price_list'>,
): CatalogueSources {
  const { data_dir: dataDir, ownModels, price_list: priceList } = settings
  const own = new Set(ownModels.map(keyOf))
  const shipped = new Map(readShippedModels().map((row) => [keyOf(row), listCatalogPrices(row)]))
  return {
    priceList: nameSource(priceList),
    read() {
      const updated = new Set(readValidUpdates(dataDir).map(keyOf))
      return {
        updated: readUpdateNote(dataDir),
        sourceOf(model) {
          if (own.has(keyOf(model))) return 'settings'
          return updated.has(keyOf(model)) ? 'updated' : 'shipped'
        },
        changedPrices(model) {
          const before = shipped.get(keyOf(model))
          const changes = before ? compareModel(listCatalogPrices(model), before) : []
          // The catalogue counts reasoning as output.
          return changes.filter(({ price }) => price !== 'reasoning').map(toDifference)
        },
      }
    },
    async compare(models) {
      const { name, text } = await readSource(priceList)
      const { differences, compared } = comparePrices(models, parsePriceList(text, name), true)
      return { source: name, compared, differences: differences.map(toDifference) }
    },
  }
}

/** The log says what is wrong with a file that is not used. */
function readValidUpdates(dataDir: string): ReturnType<typeof readUpdatedModels> {
  try {
    return readUpdatedModels(dataDir)
  } catch (error) {
    if (error instanceof SettingsError) return []
    throw error
  }
}

function toDifference({ change, here, there, ...rest }: PriceChange): ShownDifference {
  // A comparison has no other changes, and no texts in place of prices.
  const known = change as ShownDifference['change']
  return { ...rest, change: known, here: here ?? null, there: typeof there === 'number' ? there : null }
}
