import { GatewayError, type JsonObject, MODES, type Model, type Plugin } from '../../core/contract/index.ts'
import { chatErrorBody } from '../../core/dialects/chat/error-body.ts'
import { modelsPaths } from '../openapi/inference.ts'
import type { RoutingCatalog } from '../routing/routing-catalog.ts'

/** `GET /v1/models` and `GET /v1/models/{id}` in OpenAI's shape, the catalogue's own fields beside it. */
export function createModels({ catalog, capabilitiesOf }: RoutingCatalog): Plugin {
  const isOffered = (model: Model) => capabilitiesOf(model.provider) !== undefined
  return {
    name: 'models',
    after: ['auth'],
    setup: () => ({
      routes(router) {
        router.get('/v1/models', async (ctx) => {
          ctx.body = {
            object: 'list',
            data: [...MODES.map(showMode), ...catalog.models.filter(isOffered).map(show)],
          }
        })
        router.get('/v1/models/:id', async (ctx) => {
          ctx.body = find(ctx.params.id ?? '')
        })
      },
      openapi: modelsPaths,
      errorBody: chatErrorBody,
    }),
  }

  function find(id: string): JsonObject {
    const mode = MODES.find((candidate) => id === `auto:${candidate}`)
    if (mode !== undefined) return showMode(mode)
    const model = catalog.find(id)
    if (model !== undefined && isOffered(model)) return show(model)
    throw new GatewayError('model_not_found', `The model ${id} does not exist here.`, { param: 'model' })
  }
}

/** The catalogue does not know when a model was made; OpenAI's shape wants a number. */
const UNKNOWN_TIME = 0

function show({
  id,
  provider,
  aliases,
  context,
  max_output,
  price,
  quality,
  capabilities,
}: Model): JsonObject {
  const shape = { id, object: 'model', created: UNKNOWN_TIME, owned_by: provider }
  return { ...shape, provider, aliases, context, max_output, price, quality, capabilities }
}

function showMode(mode: string): JsonObject {
  return { id: `auto:${mode}`, object: 'model', created: UNKNOWN_TIME, owned_by: 'signalbox' }
}
