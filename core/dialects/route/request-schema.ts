import { type JsonObject, MODE_SPELLINGS } from '../../contract/index.ts'
import { tool } from '../chat/tool-schema.ts'

/** The body of `POST /route` (interface: "Direct routing"). Fields that are not named here are ignored. */
export const routeRequestSchema: JsonObject = {
  type: 'object',
  required: ['prompt'],
  properties: {
    prompt: { type: 'string', minLength: 1 },
    model_preferences: { type: 'array', items: { type: 'string', minLength: 1 } },
    temperature: { type: 'number', minimum: 0, maximum: 2 },
    max_tokens: { type: 'integer', minimum: 1 },
    tools: { type: 'array', items: tool },
    tool_choice: { type: 'string', minLength: 1 },
    response_format: { type: 'object', required: ['type'], properties: { type: { type: 'string' } } },
    user_id: { type: 'string' },
    cost_priority: { type: 'string', enum: MODE_SPELLINGS },
  },
}
