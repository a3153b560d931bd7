import type { JsonObject } from '../../contract/index.ts'

/** A tool as chat completions take it. */
export const tool: JsonObject = {
  type: 'object',
  required: ['type'],
  properties: {
    type: { type: 'string' },
    function: {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string', minLength: 1 }, parameters: { type: ['object', 'null'] } },
    },
  },
}
