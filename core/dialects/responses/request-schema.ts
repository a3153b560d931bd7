import { type JsonObject, Nullable, type Static, StringEnum, Type } from '../../contract/index.ts'
import { AnyObject, ModelName, NullableNumber, OpenObject } from '../schema-types.ts'

const nullableText = Nullable(Type.String())
const nullableBoolean = Nullable(Type.Boolean())
const nullableObject = Nullable(AnyObject)

/** Applies a schema only to items or parts of the given type. */
const whenType = (type: string, then: JsonObject) => ({
  if: { required: ['type'], properties: { type: { const: type } } },
  then,
})

const withText = { required: ['text'], properties: { text: { type: 'string' } } }

const part = OpenObject(
  { type: Type.String() },
  {
    allOf: [
      whenType('input_text', withText),
      whenType('output_text', withText),
      whenType('text', withText),
      whenType('refusal', { required: ['refusal'], properties: { refusal: { type: 'string' } } }),
      whenType('input_image', {
        properties: { image_url: nullableText, detail: nullableText, file_id: nullableText },
      }),
    ],
  },
)

const parts = { type: ['string', 'array'], items: part }

const message = {
  required: ['role', 'content'],
  properties: {
    role: { type: 'string', enum: ['user', 'assistant', 'system', 'developer'] },
    content: parts,
  },
}

const item = OpenObject(
  { type: Type.Optional(Type.String()) },
  {
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
  },
)

const format = OpenObject(
  { type: StringEnum(['text', 'json_object', 'json_schema']) },
  {
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
  },
)

const tool = OpenObject(
  { type: Type.String() },
  {
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
  },
)

/** The body of `POST /v1/responses` (docs/api.md, "Responses"). Unknown fields are ignored. */
export const responsesRequestSchema = OpenObject({
  model: Type.Optional(ModelName),
  input: Type.Unsafe<string | readonly InputItem[]>({ type: ['string', 'array'], minItems: 1, items: item }),
  instructions: Type.Optional(nullableText),
  max_output_tokens: Type.Optional(Nullable(Type.Integer({ minimum: 1 }))),
  temperature: Type.Optional(NullableNumber(0, 2)),
  top_p: Type.Optional(NullableNumber(0, 1)),
  stream: Type.Optional(nullableBoolean),
  store: Type.Optional(nullableBoolean),
  metadata: Type.Optional(nullableObject),
  user: Type.Optional(nullableText),
  previous_response_id: Type.Optional(nullableText),
  parallel_tool_calls: Type.Optional(nullableBoolean),
  tools: Type.Optional(Nullable(Type.Array(tool))),
  tool_choice: Type.Optional(Type.Unsafe<string | JsonObject | null>({ type: ['string', 'object', 'null'] })),
  text: Type.Optional(
    Nullable(
      Type.Object({
        format: Type.Optional(Nullable(format)),
        verbosity: Type.Optional(nullableText),
      }),
    ),
  ),
  reasoning: Type.Optional(
    Nullable(Type.Object({ effort: Type.Optional(nullableText), summary: Type.Optional(nullableText) })),
  ),
  truncation: Type.Optional(Nullable(StringEnum(['auto', 'disabled']))),
  top_logprobs: Type.Optional(Nullable(Type.Integer())),
})

/** A valid body of `POST /v1/responses`. Unknown fields are of unknown type. */
export type ResponsesBody = Static<typeof responsesRequestSchema>

/** A message, function call, call output or reasoning, according to `type`, which defaults to `message`. */
export type InputItem = Static<typeof item>

/** `{type:"function", name, parameters}`. Chat completions nest these fields in `function`. */
export type FlatTool = Static<typeof tool>

export type TextFormat = Static<typeof format>
