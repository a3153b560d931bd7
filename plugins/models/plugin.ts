import type { IncomingHttpHeaders } from 'node:http'
import {
  definePlugin,
  type Endpoint,
  endpoint,
  GatewayError,
  type JsonObject,
  type Mode,
  type Model,
  Type,
  user,
} from '../../core/contract/index.ts'
import { isModelAllowed } from '../../providers/shared/allowed-models.ts'
import { commonAttributes } from '../../providers/shared/attributes.ts'
import { Providers } from '../../providers/shared/providers.ts'
import { findTarget, knownNames, parseRequestedModel, RoutingCatalog } from '../routing/index.ts'
import { toAnthropicModel, toAnthropicModelList } from './anthropic-list.ts'
import { CATALOGUE_ERROR_CODES, CatalogueSources, createCatalogueEndpoints } from './catalogue-endpoints.ts'
import { ModelList, ModelSchema } from './schemas.ts'

/**
 * Serves `GET /v1/models` and `GET /v1/models/{id}` in OpenAI's format, extended by the fields of the
 * catalog, and the whole catalogue for operators.
 */
export default definePlugin({
  name: 'models',
  after: ['auth'],
  uses: { catalog: RoutingCatalog, providers: Providers, sources: CatalogueSources },
  setup: (_, { use: { catalog, providers, sources } }) => ({
    errorCodes: CATALOGUE_ERROR_CODES,
    endpoints: [
      ...createModelEndpoints(catalog, providers),
      ...createCatalogueEndpoints({ routing: catalog, providers, sources }),
    ],
  }),
})

function createModelEndpoints(
  routingCatalog: RoutingCatalog,
  providers: Pick<Providers, 'known' | 'byId'>,
): readonly Endpoint[] {
  const { catalog, capabilitiesOf, modeAliases = new Map<string, Mode>() } = routingCatalog
  const names = knownNames(routingCatalog, providers.known)
  const isAvailable = ({ provider }: Pick<Model, 'provider'>) => capabilitiesOf(provider) !== undefined

  /** Returns what a request with this name would use. */
  function findModelBody(name: string): JsonObject {
    const requested = parseRequestedModel(name, names)
    if (requested.type === 'auto') return toModeBody(name)
    const { provider, model, entry } = findTarget(requested.model, requested.provider, routingCatalog)
    if (!isAvailable({ provider })) {
      const message = `Model ${name} was not found: provider ${provider} is not configured.`
      throw new GatewayError('model_not_found', message, { param: 'model' })
    }
    const openAiFields = toOpenAiFields(model, provider)
    const body = entry ? { ...toModelBody(entry), ...openAiFields } : { ...openAiFields, provider }
    return { ...body, ...attributesAt(provider, entry) }
  }

  function attributesAt(provider: string, entry?: Model): JsonObject {
    return { ...commonAttributes({ ...(entry && { entry }) }, providers.byId.get(provider)) }
  }

  function respond(name: string, headers: IncomingHttpHeaders) {
    const model = findModelBody(name)
    return { status: 200, body: isAnthropicClient(headers) ? toAnthropicModel(model) : model }
  }

  const responses = { 200: { description: 'The model.', body: ModelSchema } }
  const common = {
    method: 'GET',
    access: user(),
    tags: ['models'],
    errorStyle: 'openai',
    tellsOwnTime: true,
  } as const

  return [
    endpoint({
      ...common,
      path: '/v1/models',
      operationId: 'listModels',
      summary: 'Lists the routing modes and the models that the key may use.',
      description: ANTHROPIC_FORMAT,
      query: anthropicPages,
      responses: { 200: { description: 'All models.', body: ModelList } },
      handle({ account, headers }) {
        const isAllowed = (entry: Model) =>
          isModelAllowed(account, { provider: entry.provider, model: entry.id, entry })
        const models = catalog.models.filter((model) => isAvailable(model) && isAllowed(model))
        const modes = [...MODE_FORMS, ...modeAliases.keys()]
        const data = [
          ...modes.map(toModeBody),
          ...models.map((model) => ({ ...toModelBody(model), ...attributesAt(model.provider, model) })),
        ]
        const body = isAnthropicClient(headers) ? toAnthropicModelList(data) : { object: 'list', data }
        return { status: 200, body }
      },
    }),
    endpoint({
      ...common,
      path: '/v1/models/{id}',
      operationId: 'readModel',
      summary: 'Returns a model.',
      description: ANTHROPIC_FORMAT,
      params: {
        id: Type.String({
          minLength: 1,
          description: 'The name of a model or routing mode, as requests may give it.',
          examples: ['gpt-4o'],
        }),
      },
      responses,
      errors: ['model_not_found'],
      handle: ({ params, headers }) => respond(params.id, headers),
    }),
    // For clients that do not encode the slash of a name.
    endpoint({
      ...common,
      path: '/v1/models/{provider}/{id}',
      operationId: 'readProviderModel',
      summary: 'Returns a model of a provider.',
      description: ANTHROPIC_FORMAT,
      params: {
        provider: Type.String({ minLength: 1, description: 'The provider.', examples: ['openai'] }),
        id: Type.String({ minLength: 1, description: 'The name of a model.', examples: ['gpt-4o'] }),
      },
      responses,
      errors: ['model_not_found'],
      handle: ({ params, headers }) => respond(`${params.provider}/${params.id}`, headers),
    }),
  ]
}

const ANTHROPIC_FORMAT = "With the header anthropic-version, the answer has Anthropic's format."

/** Anthropic's clients ask for pages. */
const anthropicPages = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description: 'Not used: the page has all models.',
      examples: [20],
    }),
  ),
}

function isAnthropicClient(headers: IncomingHttpHeaders): boolean {
  return headers['anthropic-version'] !== undefined
}

/** The modes as clients know them: `auto:fast` is another name of `auto:latency`. */
const MODE_FORMS = ['auto:balance', 'auto:cost', 'auto:quality', 'auto:latency', 'auto:fast']

/** OpenAI's format requires a number, but the catalog has no creation times. */
const UNKNOWN_TIME = 0

function toModelBody(model: Model): JsonObject {
  const { id, provider, aliases, operation = 'chat', dimensions, context, max_output } = model
  const { price, quality, capabilities, retires } = model
  const figures = { ...(dimensions && { dimensions }), context, max_output, price, quality, capabilities }
  const catalogFields = { provider, aliases, operation, ...figures }
  // Not spreads: V8 then makes a hidden class for each model.
  return Object.assign(toOpenAiFields(id, provider), catalogFields, retires !== undefined && { retires })
}

function toModeBody(name: string): JsonObject {
  return toOpenAiFields(name, 'signalbox')
}

function toOpenAiFields(id: string, owner: string): JsonObject {
  return { id, object: 'model', created: UNKNOWN_TIME, owned_by: owner }
}
