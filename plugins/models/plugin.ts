import { GatewayError, type JsonObject, MODES, type Model, type Plugin } from '../../core/contract/index.ts'
import { chatErrorBody } from '../../core/dialects/chat/error-body.ts'
import { modelsPaths } from '../openapi/inference.ts'
import type { RoutingCatalog } from '../routing/routing-catalog.ts'

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

  return {
    name: 'models',
    after: ['auth'],
    setup: () => ({
      routes(router) {
        router.get('/v1/models', async (ctx) => {
          const models = catalog.models.filter(isAvailable)
          ctx.body = { object: 'list', data: [...MODES.map(toModeBody), ...models.map(toModelBody)] }
        })
        router.get('/v1/models/:id', async (ctx) => {
          ctx.body = findModelBody(ctx.params.id ?? '')
        })
      },
      openapi: modelsPaths,
      errorBody: chatErrorBody,
    }),
  }
}

/** OpenAI's format requires a number, but the catalog has no creation times. */
const UNKNOWN_TIME = 0

function toModelBody(model: Model): JsonObject {
  const { id, provider, aliases, context, max_output, price, quality, capabilities } = model
  const openAiFields = { id, object: 'model', created: UNKNOWN_TIME, owned_by: provider }
  return { ...openAiFields, provider, aliases, context, max_output, price, quality, capabilities }
}

function toModeBody(mode: string): JsonObject {
  return { id: `auto:${mode}`, object: 'model', created: UNKNOWN_TIME, owned_by: 'signalbox' }
}
