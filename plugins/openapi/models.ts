import type { JsonObject } from '../../core/contract/index.ts'
import { userErrors } from './errors.ts'
import { describeOperation } from './operation.ts'
import { inPath } from './parameters.ts'
import { anyObject, closed, flag, integer, list, number, oneOf, ref, text } from './schema.ts'

const tag = 'models'

export const modelsPaths: JsonObject = {
  '/v1/models': {
    get: describeOperation({
      id: 'listModels',
      tag,
      summary: 'Lists the routing modes and the models that are served.',
      answers: {
        200: closed({ object: { const: 'list' }, data: list(ref('Model')) }),
        ...userErrors('ChatError'),
      },
    }),
  },
  '/v1/models/{id}': {
    parameters: [inPath('id', 'gpt-4o', 'The name of a model or of a routing mode.')],
    get: describeOperation({
      id: 'readModel',
      tag,
      summary: 'Shows a model.',
      answers: { 200: ref('Model'), ...userErrors('ChatError', 404) },
    }),
  },
}

export const modelsSchemas: JsonObject = {
  Model: closed({
    id: text,
    object: { const: 'model' },
    created: integer,
    owned_by: text,
    'provider?': text,
    'aliases?': list(text),
    'context?': integer,
    'max_output?': integer,
    'price?': ref('Price'),
    'quality?': number,
    'capabilities?': closed({ tools: flag, images: flag, json: oneOf('none', 'object', 'schema') }),
  }),
  Price: {
    ...closed({
      input: number,
      'cached?': number,
      'cache_write?': number,
      output: number,
      'above?': anyObject,
    }),
    description: 'USD per million tokens',
  },
}
