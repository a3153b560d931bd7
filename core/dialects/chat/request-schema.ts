import { type JsonObject, Nullable, type Static, StringEnum, Type } from '../../contract/index.ts'
import { AnyObject, ModelName, NullableNumber, OpenObject } from '../schema-types.ts'

/** A tool in the chat-completions format. */
export const chatToolSchema = OpenObject({
  type: Type.String(),
  function: Type.Optional(
    OpenObject({
      name: Type.String({ minLength: 1 }),
      parameters: Type.Optional(Nullable(AnyObject)),
    }),
  ),
})

const toolCall = OpenObject({
  id: Type.String(),
  function: OpenObject({ name: Type.String(), arguments: Type.String() }),
})

const contentPart = OpenObject(
  { type: Type.String(), text: Type.Optional(Type.String()) },
  {
    if: { properties: { type: { const: 'text' } } },
    // biome-ignore lint/suspicious/noThenProperty: a JSON Schema keyword
    then: { required: ['text'] },
  },
)

const message = OpenObject(
  {
    role: StringEnum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
    content: Type.Optional(
      Type.Unsafe<string | readonly Static<typeof contentPart>[] | null>({
        type: ['string', 'array', 'null'],
        items: contentPart,
      }),
    ),
    tool_calls: Type.Optional(Nullable(Type.Array(toolCall))),
    tool_call_id: Type.Optional(Type.String()),
  },
  {
    if: { properties: { role: { enum: ['system', 'developer', 'user', 'tool'] } } },
    // biome-ignore lint/suspicious/noThenProperty: a JSON Schema keyword
    then: { required: ['content'], properties: { content: { type: ['string', 'array'] } } },
  },
)

const nullableCount = Nullable(Type.Integer({ minimum: 1 }))

/** The chat-completions body (docs/api.md, "Chat completions"). Unknown fields are passed through. */
export const chatRequestSchema = OpenObject({
  model: Type.Optional(ModelName),
  messages: Type.Array(message, { minItems: 1 }),
  temperature: Type.Optional(NullableNumber(0, 2)),
  top_p: Type.Optional(NullableNumber(0, 1)),
  presence_penalty: Type.Optional(NullableNumber(-2, 2)),
  frequency_penalty: Type.Optional(NullableNumber(-2, 2)),
  max_tokens: Type.Optional(nullableCount),
  max_completion_tokens: Type.Optional(nullableCount),
  n: Type.Optional(nullableCount),
  stream: Type.Optional(Nullable(Type.Boolean())),
  stream_options: Type.Optional(
    Nullable(OpenObject({ include_usage: Type.Optional(Nullable(Type.Boolean())) })),
  ),
  stop: Type.Optional(
    Type.Unsafe<string | readonly string[] | null>({
      type: ['string', 'array', 'null'],
      items: { type: 'string' },
    }),
  ),
  user: Type.Optional(Type.String()),
  metadata: Type.Optional(Nullable(AnyObject)),
  tools: Type.Optional(Nullable(Type.Array(chatToolSchema))),
  tool_choice: Type.Optional(Type.Unsafe<string | JsonObject | null>({ type: ['string', 'object', 'null'] })),
  response_format: Type.Optional(Nullable(OpenObject({ type: Type.String() }))),
  logit_bias: Type.Optional(Nullable(AnyObject)),
  seed: Type.Optional(Nullable(Type.Integer())),
  logprobs: Type.Optional(Nullable(Type.Boolean())),
})
