import type { JsonObject } from '../../contract/index.ts'

const nullableText = { type: ['string', 'null'] }
const nullableBoolean = { type: ['boolean', 'null'] }
const nullableObject = { type: ['object', 'null'] }
const nullableNumber = (minimum: number, maximum: number) => ({ type: ['number', 'null'], minimum, maximum })

/** Applies a schema only to items or parts of the given type. */
const whenType = (type: string, then: JsonObject) => ({
  if: { required: ['type'], properties: { type: { const: type } } },
  then,
})

const withText = { required: ['text'], properties: { text: { type: 'string' } } }

const part = {
  type: 'object',
  required: ['type'],
  properties: { type: { type: 'string' } },
  allOf: [
    whenType('input_text', withText),
    whenType('output_text', withText),
    whenType('text', withText),
    whenType('refusal', { required: ['refusal'], properties: { refusal: { type: 'string' } } }),
    whenType('input_image', {
      properties: { image_url: nullableText, detail: nullableText, file_id: nullableText },
    }),
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
    whenType('message', message),
    { if: { required: ['type'] }, else: message },
    whenType('function_call', {
      required: ['call_id', 'name', 'arguments'],
      properties: {
        call_id: { type: 'string' },
        name: { type: 'string' },
        arguments: { type: 'string' },
        extra_content: nullableObject,
      },
    }),
    whenType('function_call_output', {
      required: ['call_id', 'output'],
      properties: { call_id: { type: 'string' }, output: parts },
    }),
    whenType('reasoning', {
      properties: {
        summary: { type: 'array', items: { type: 'object', ...withText } },
        content: { type: ['array', 'null'], items: { type: 'object', ...withText } },
      },
    }),
    whenType('item_reference', { required: ['id'], properties: { id: { type: 'string' } } }),
  ],
}

const format = {
  type: ['object', 'null'],
  required: ['type'],
  properties: { type: { type: 'string', enum: ['text', 'json_object', 'json_schema'] } },
  allOf: [
    whenType('json_schema', {
      required: ['name', 'schema'],
      properties: {
        name: { type: 'string' },
        schema: { type: 'object' },
        strict: nullableBoolean,
        description: nullableText,
      },
    }),
  ],
}

const tool = {
  type: 'object',
  required: ['type'],
  properties: { type: { type: 'string' } },
  allOf: [
    whenType('function', {
      required: ['name'],
      properties: {
        name: { type: 'string', minLength: 1 },
        description: nullableText,
        parameters: nullableObject,
        strict: nullableBoolean,
      },
    }),
  ],
}

/** The body of `POST /v1/responses` (docs/api.md, "Responses"). Unknown fields are ignored. */
export const responsesRequestSchema: JsonObject = {
  type: 'object',
  required: ['input'],
  properties: {
    model: { type: 'string', pattern: '^[!-~]{1,256}$' },
    input: { type: ['string', 'array'], minItems: 1, items: item },
    instructions: nullableText,
    max_output_tokens: { type: ['integer', 'null'], minimum: 1 },
    temperature: nullableNumber(0, 2),
    top_p: nullableNumber(0, 1),
    stream: nullableBoolean,
    store: nullableBoolean,
    metadata: nullableObject,
    user: nullableText,
    previous_response_id: nullableText,
    parallel_tool_calls: nullableBoolean,
    tools: { type: ['array', 'null'], items: tool },
    tool_choice: { type: ['string', 'object', 'null'] },
    text: { type: ['object', 'null'], properties: { format, verbosity: nullableText } },
    reasoning: { type: ['object', 'null'], properties: { effort: nullableText, summary: nullableText } },
    truncation: { type: ['string', 'null'], enum: ['auto', 'disabled', null] },
    top_logprobs: { type: ['integer', 'null'] },
  },
}

/** A valid body of `POST /v1/responses`. Declares only the fields that the gateway reads. */
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

/** A message, function call, call output or reasoning, according to `type`, which defaults to `message`. */
export interface InputItem extends JsonObject {
  readonly type?: string
}

/** `{type:"function", name, parameters}`. Chat completions nest these fields in `function`. */
export interface FlatTool extends JsonObject {
  readonly type: string
}

export interface TextFormat extends JsonObject {
  readonly type: string
}
