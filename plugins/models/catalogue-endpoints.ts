import {
  data,
  type Endpoint,
  endpoint,
  errorsOf,
  MODES,
  type Model,
  operator,
  service,
} from '../../core/contract/index.ts'
import { NoFields } from '../../core/http/schemas.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { ATTRIBUTE_NAMES, commonAttributes } from '../../providers/shared/attributes.ts'
import { isRetired } from '../../providers/shared/catalog.ts'
import type { Providers } from '../../providers/shared/providers.ts'
import type { RoutingCatalog } from '../routing/index.ts'
import {
  CatalogueSchema,
  PriceComparisonSchema,
  type ShownDifference,
  type ShownModel,
} from './catalogue-schemas.ts'

/** Where the rows of the catalogue come from, and what other lists say. The gateway provides it. */
export interface CatalogueSources {
  /** The address or file that `compare` reads, without secrets. */
  readonly priceList: string
  read(): {
    /** From where and on which day rows were last updated. */
    readonly updated: { readonly date: string; readonly source: string } | undefined
    sourceOf(model: Model): ShownModel['source']
    /** The prices that differ from those of the shipped row, if there is one. */
    changedPrices(model: Model): readonly ShownDifference[]
  }
  /** Reads the list. Rejects with what is wrong with it. */
  compare(models: readonly Model[]): Promise<{
    readonly source: string
    readonly compared: number
    readonly differences: readonly ShownDifference[]
  }>
}

export const CatalogueSources = service<CatalogueSources>('models.sources')

export const CATALOGUE_ERROR_CODES = {
  price_list_unavailable: {
    ...{ status: 502, type: 'api_error' },
    description: 'The list of prices of the settings cannot be read, or has none.',
  },
} as const

const catalogueError = errorsOf(CATALOGUE_ERROR_CODES)

interface CatalogueServices {
  readonly routing: RoutingCatalog
  readonly providers: Pick<Providers, 'byId'>
  readonly sources: CatalogueSources
}

/** Creates the endpoints with which operators look at the catalogue. */
export function createCatalogueEndpoints(services: CatalogueServices): readonly Endpoint[] {
  const { routing, sources } = services
  return [
    endpoint({
      method: 'GET',
      path: '/admin/models',
      access: operator('auditor', 'whole'),
      operationId: 'readCatalogue',
      summary: 'Returns all models with prices, where these come from, and the weights of routing.',
      tags: ['admin'],
      responses: { 200: { description: 'The catalogue.', body: data(CatalogueSchema) } },
      handle: () => ({ status: 200, body: { data: showCatalogue(services) } }),
    }),
    endpoint({
      method: 'POST',
      path: '/admin/models/compare',
      access: operator('editor', 'whole'),
      operationId: 'comparePrices',
      summary: 'Reads the list of prices of the settings, and returns how the catalogue differs.',
      tags: ['admin'],
      body: NoFields,
      examples: { empty: {} },
      responses: { 200: { description: 'The differences.', body: data(PriceComparisonSchema) } },
      errors: ['price_list_unavailable'],
      async handle() {
        const compared = await sources.compare(routing.catalog.models).catch((cause: unknown) => {
          const message = `${errorMessage(cause)} Check price_list in the settings.`
          throw catalogueError('price_list_unavailable', message, { cause })
        })
        return { status: 200, body: { data: compared } }
      },
    }),
  ]
}

function showCatalogue({ routing, providers, sources }: CatalogueServices) {
  const { catalog, weights, modeAliases = new Map() } = routing
  const origin = sources.read()
  return {
    models: catalog.models.map((model) => ({
      ...showModel(model, routing, providers),
      source: origin.sourceOf(model),
      changed_prices: origin.changedPrices(model),
    })),
    modes: MODES.map((mode) => ({
      mode,
      aliases: [...modeAliases].flatMap(([alias, target]) => (target === mode ? [alias] : [])),
      ...weights[mode],
    })),
    price_list: sources.priceList,
    updated: origin.updated ?? null,
  }
}

function showModel(
  model: Model,
  { capabilitiesOf, latencyOf }: RoutingCatalog,
  providers: CatalogueServices['providers'],
) {
  const { provider, id, aliases, operation = 'chat', price, context, max_output, quality } = model
  const { latency_ms, capabilities, reasoning, sampling, automatic = true, retires = null, quirks } = model
  const isAvailable = capabilitiesOf(provider) !== undefined
  const attributes = commonAttributes({ entry: model }, providers.byId.get(provider))
  return {
    ...{ provider, id, aliases, operation, price, context, max_output, quality, latency_ms },
    ...{ capabilities, reasoning, sampling, automatic, retires, quirks },
    state: isRetired(model) ? 'retired' : isAvailable ? 'available' : 'not_configured',
    expected_latency_ms: Math.round(latencyOf(model)),
    ...Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, attributes[name] ?? null])),
  }
}
