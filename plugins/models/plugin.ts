import type { IncomingHttpHeaders } from 'node:http'
import {
  endpoint,
  GatewayError,
  type JsonObject,
  MODES,
  type Model,
  type Plugin,
  Type,
  user,
} from '../../core/contract/index.ts'
import { isModelAllowed } from '../../core/util/allowed-models.ts'
import type { RoutingCatalog } from '../routing/routing-catalog.ts'
import { toAnthropicModel, toAnthropicModelList } from './anthropic-list.ts'
import { ModelList, ModelSchema } from './schemas.ts'

/**
 * Serves `GET /v1/models` and `GET /v1/models/{id}` in OpenAI's format, extended by the fields of the
 * catalog.
 */
export function createModels({ catalog, capabilitiesOf }: RoutingCatalog): Plugin {
  const isAvailable = (model: Model) => capabilitiesOf(model.provider) !== undefined

  function findModelBody(id: string): JsonObject {
    const mode = MODES.find((candidate) => id === `auto:${candidate}`)
    if (mode !== undefined) return toModeBody(mode)
    const model = catalog.find(id)
    if (model !== undefined && isAvailable(model)) return toModelBody(model)
    const message = `Model ${id} was not found. GET /v1/models lists the available models.`
    throw new GatewayError('model_not_found', message, { param: 'model' })
  }

  const common = { method: 'GET', access: user(), tags: ['models'], errorStyle: 'openai' } as const

  const endpoints = [
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
        const data = [...MODES.map(toModeBody), ...models.map(toModelBody)]
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
          description: 'The name of a model or routing mode.',
          examples: ['gpt-4o'],
        }),
      },
      responses: { 200: { description: 'The model.', body: ModelSchema } },
      errors: ['model_not_found'],
      handle({ params, headers }) {
        const model = findModelBody(params.id)
        return { status: 200, body: isAnthropicClient(headers) ? toAnthropicModel(model) : model }
      },
    }),
  ]

  return { name: 'models', after: ['auth'], setup: () => ({ endpoints }) }
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

/** OpenAI's format requires a number, but the catalog has no creation times. */
const UNKNOWN_TIME = 0

function toModelBody(model: Model): JsonObject {
  const { id, provider, aliases, operation = 'chat', dimensions, context, max_output } = model
  const { price, quality, capabilities } = model
  const openAiFields = { id, object: 'model', created: UNKNOWN_TIME, owned_by: provider }
  const figures = { ...(dimensions && { dimensions }), context, max_output, price, quality, capabilities }
  return { ...openAiFields, provider, aliases, operation, ...figures }
}

function toModeBody(mode: string): JsonObject {
  return { id: `auto:${mode}`, object: 'model', created: UNKNOWN_TIME, owned_by: 'signalbox' }
}
