import type { JsonObject } from '../../contract/index.ts'

/** A tool in the chat-completions format. */
export const chatToolSchema: JsonObject = {
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

const nullableNumber = (minimum: number, maximum: number) => ({ type: ['number', 'null'], minimum, maximum })
const nullableCount = { type: ['integer', 'null'], minimum: 1 }

const toolCall = {
  type: 'object',
  required: ['id', 'function'],
  properties: {
    id: { type: 'string' },
    function: {
      type: 'object',
      required: ['name', 'arguments'],
      properties: { name: { type: 'string' }, arguments: { type: 'string' } },
    },
  },
}

const contentPart = {
  type: 'object',
  required: ['type'],
  properties: { type: { type: 'string' }, text: { type: 'string' } },
  if: { properties: { type: { const: 'text' } } },
  // biome-ignore lint/suspicious/noThenProperty: a JSON Schema keyword
  then: { required: ['text'] },
}

const message = {
  type: 'object',
  required: ['role'],
  properties: {
    role: { type: 'string', enum: ['system', 'developer', 'user', 'assistant', 'tool', 'function'] },
    content: { type: ['string', 'array', 'null'], items: contentPart },
    tool_calls: { type: ['array', 'null'], items: toolCall },
    tool_call_id: { type: 'string' },
  },
  if: { properties: { role: { enum: ['system', 'developer', 'user', 'tool'] } } },
  // biome-ignore lint/suspicious/noThenProperty: a JSON Schema keyword
  then: { required: ['content'], properties: { content: { type: ['string', 'array'] } } },
}

/** The chat-completions body (docs/api.md, "Chat completions"). Unknown fields are passed through. */
export const chatRequestSchema: JsonObject = {
  type: 'object',
  required: ['messages'],
  properties: {
    model: { type: 'string', pattern: '^[!-~]{1,256}$' },
    messages: { type: 'array', minItems: 1, items: message },
    temperature: nullableNumber(0, 2),
    top_p: nullableNumber(0, 1),
    presence_penalty: nullableNumber(-2, 2),
    frequency_penalty: nullableNumber(-2, 2),
    max_tokens: nullableCount,
    max_completion_tokens: nullableCount,
    n: nullableCount,
    stream: { type: ['boolean', 'null'] },
    stream_options: {
      type: ['object', 'null'],
      properties: { include_usage: { type: ['boolean', 'null'] } },
    },
    stop: { type: ['string', 'array', 'null'], items: { type: 'string' } },
    user: { type: 'string' },
    metadata: { type: ['object', 'null'] },
    tools: { type: ['array', 'null'], items: chatToolSchema },
    tool_choice: { type: ['string', 'object', 'null'] },
    response_format: {
      type: ['object', 'null'],
      required: ['type'],
      properties: { type: { type: 'string' } },
    },
    logit_bias: { type: ['object', 'null'] },
    seed: { type: ['integer', 'null'] },
    logprobs: { type: ['boolean', 'null'] },
  },
}
