import type { JsonObject } from '../../contract/index.ts'

const text = { type: ['string', 'null'] }
const flag = { type: ['boolean', 'null'] }
const object = { type: ['object', 'null'] }
const number = (minimum: number, maximum: number) => ({ type: ['number', 'null'], minimum, maximum })

/** A schema that holds for the items or parts of one type. */
const when = (type: string, then: JsonObject) => ({
  if: { required: ['type'], properties: { type: { const: type } } },
  then,
})

const withText = { required: ['text'], properties: { text: { type: 'string' } } }

const part = {
  type: 'object',
  required: ['type'],
  properties: { type: { type: 'string' } },
  allOf: [
    when('input_text', withText),
    when('output_text', withText),
    when('text', withText),
    when('refusal', { required: ['refusal'], properties: { refusal: { type: 'string' } } }),
    when('input_image', { properties: { image_url: text, detail: text, file_id: text } }),
  ],
}

const parts = { type: ['string', 'array'], items: part }

const message = {
  required: ['role', 'content'],
  properties: {
    role: { type: 'string', enum: ['user', 'assistant', 'system', 'developer'] },
    content: parts,
  },
}

const item = {
  type: 'object',
  properties: { type: { type: 'string' } },
  allOf: [
    when('message', message),
    { if: { required: ['type'] }, else: message },
    when('function_call', {
      required: ['call_id', 'name', 'arguments'],
      properties: {
        call_id: { type: 'string' },
        name: { type: 'string' },
        arguments: { type: 'string' },
        extra_content: object,
      },
    }),
    when('function_call_output', {
      required: ['call_id', 'output'],
      properties: { call_id: { type: 'string' }, output: parts },
    }),
    when('reasoning', {
      properties: {
        summary: { type: 'array', items: { type: 'object', ...withText } },
        content: { type: ['array', 'null'], items: { type: 'object', ...withText } },
      },
    }),
    when('item_reference', { required: ['id'], properties: { id: { type: 'string' } } }),
  ],
}

const format = {
  type: ['object', 'null'],
  required: ['type'],
  properties: { type: { type: 'string', enum: ['text', 'json_object', 'json_schema'] } },
  allOf: [
    when('json_schema', {
      required: ['name', 'schema'],
      properties: { name: { type: 'string' }, schema: { type: 'object' }, strict: flag, description: text },
    }),
  ],
}

const tool = {
  type: 'object',
  required: ['type'],
  properties: { type: { type: 'string' } },
  allOf: [
    when('function', {
      required: ['name'],
      properties: {
        name: { type: 'string', minLength: 1 },
        description: text,
        parameters: object,
        strict: flag,
      },
    }),
  ],
}

/** The body of `POST /v1/responses` (docs/api.md, "Responses"; OpenAI's fields besides). Fields that are not named here are ignored. */
export const responsesRequestSchema: JsonObject = {
  type: 'object',
  required: ['input'],
  properties: {
    model: { type: 'string', pattern: '^[!-~]{1,256}$' },
    input: { type: ['string', 'array'], minItems: 1, items: item },
    instructions: text,
    max_output_tokens: { type: ['integer', 'null'], minimum: 1 },
    temperature: number(0, 2),
    top_p: number(0, 1),
    stream: flag,
    store: flag,
    metadata: object,
    user: text,
    previous_response_id: text,
    parallel_tool_calls: flag,
    tools: { type: ['array', 'null'], items: tool },
    tool_choice: { type: ['string', 'object', 'null'] },
    text: { type: ['object', 'null'], properties: { format, verbosity: text } },
    reasoning: { type: ['object', 'null'], properties: { effort: text, summary: text } },
    truncation: { type: ['string', 'null'], enum: ['auto', 'disabled', null] },
    top_logprobs: { type: ['integer', 'null'] },
  },
}

/** The body of `POST /v1/responses`, once its schema has held. Only what is read here is named. */
export interface ResponsesBody extends JsonObject {
  readonly model?: string
  readonly input: string | readonly InputItem[]
  readonly instructions?: string | null
  readonly max_output_tokens?: number | null
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly stream?: boolean | null
  readonly store?: boolean | null
  readonly metadata?: JsonObject | null
  readonly user?: string | null
  readonly previous_response_id?: string | null
  readonly parallel_tool_calls?: boolean | null
  readonly tools?: readonly FlatTool[] | null
  readonly tool_choice?: string | JsonObject | null
  readonly text?: { readonly format?: TextFormat | null; readonly verbosity?: string | null } | null
  readonly reasoning?: { readonly effort?: string | null; readonly summary?: string | null } | null
  readonly truncation?: string | null
}

/** Something said, called or thought; what it holds depends on its type, which is `message` when left out. */
export interface InputItem extends JsonObject {
  readonly type?: string
}

/** `{type:"function", name, parameters}`, where chat completions would nest it. */
export interface FlatTool extends JsonObject {
  readonly type: string
}

export interface TextFormat extends JsonObject {
  readonly type: string
}
