import { type JsonObject, Nullable, type Static, StringEnum, Type } from '../../contract/index.ts'
import { ToolChoice } from '../chat/request-schema.ts'
import {
  AnyObject,
  ModelName,
  NullableBoolean,
  NullableNumber,
  NullableText,
  OpenObject,
  Text,
  Variants,
} from '../schema-types.ts'
import { InputItemSchema } from './input-schemas.ts'
import { ToolSchema } from './tool-schemas.ts'

const nullableObject = (description: string) => Nullable(AnyObject(description), { description })

const simpleFormat = OpenObject(
  { type: StringEnum(['text', 'json_object'], { description: 'Text, or any JSON object.' }) },
  { $id: 'SimpleFormat', description: 'A format without a schema.' },
)

const schemaFormat = OpenObject(
  {
    type: Type.Literal('json_schema', { description: 'Always json_schema.' }),
    name: Text('Name of the schema.'),
    schema: AnyObject('The JSON Schema.'),
    strict: Type.Optional(NullableBoolean('The reply always matches the schema.')),
    description: Type.Optional(NullableText('What the schema is for.')),
  },
  { $id: 'SchemaFormat', description: 'JSON that matches a schema.' },
)

/** The format of the text, as validated requests hold it. */
export interface TextFormat extends JsonObject {
  readonly type: 'text' | 'json_object' | 'json_schema'
}

const format = Type.Unsafe<TextFormat>(
  Variants('type', [simpleFormat, schemaFormat], {
    isClosed: true,
    $id: 'TextFormat',
    description: 'Format of the text.',
  }),
)

const input = Type.Unsafe<string | readonly InputItem[]>(
  Type.Union([Type.String(), Type.Array(InputItemSchema, { 'x-documented': { minItems: 1 } })], {
    description: 'The text of the user, or a list of items.',
  }),
)

const text = OpenObject(
  {
    format: Type.Optional(Nullable(format, { description: 'Format of the text.' })),
    verbosity: Type.Optional(NullableText('low, medium or high.')),
  },
  { description: 'Options of the text.' },
)

const reasoning = OpenObject(
  {
    effort: Type.Optional(NullableText('none, minimal, low, medium or high.')),
    summary: Type.Optional(NullableText('auto, concise or detailed.')),
  },
  { description: 'Options of reasoning.' },
)

/** The body of `POST /v1/responses` (docs/api.md, "Responses"). Unknown fields are ignored. */
export const responsesRequestSchema = OpenObject(
  {
    model: Type.Optional(Nullable(ModelName, { description: ModelName.description })),
    input,
    generate: Type.Optional(
      NullableBoolean('false stores the input for a following request, without calling a model.'),
    ),
    instructions: Type.Optional(NullableText('Instructions of the application.')),
    max_output_tokens: Type.Optional(
      Nullable(Type.Integer({ minimum: 1 }), { description: 'Maximum length of the reply, in tokens.' }),
    ),
    max_tool_calls: Type.Optional(
      Nullable(Type.Integer({ minimum: 1 }), {
        description: 'Maximum number of calls of hosted tools. There are none, so it has no effect.',
      }),
    ),
    temperature: Type.Optional(NullableNumber(0, 2, 'Randomness.')),
    top_p: Type.Optional(NullableNumber(0, 1, 'Share of the probability mass that is sampled from.')),
    presence_penalty: Type.Optional(NullableNumber(-2, 2, 'Penalty for words that occurred.')),
    frequency_penalty: Type.Optional(NullableNumber(-2, 2, 'Penalty for words by how often they occurred.')),
    service_tier: Type.Optional(NullableText('The service tier, for providers that have some.')),
    safety_identifier: Type.Optional(NullableText('A stable id of your user.')),
    prompt_cache_key: Type.Optional(NullableText('A key for the cache of the provider.')),
    include: Type.Optional(
      Nullable(Type.Array(Type.String()), {
        description:
          'reasoning.encrypted_content asks for it from models that otherwise do not return it. Other ' +
          'values have no effect.',
      }),
    ),
    stream: Type.Optional(NullableBoolean('Streams the response as events.')),
    store: Type.Optional(NullableBoolean('Stores the response. Default: true.')),
    metadata: Type.Optional(nullableObject('Metadata for routing rules.')),
    user: Type.Optional(NullableText('An id of your user, or metadata as JSON text.')),
    previous_response_id: Type.Optional(NullableText('The response to continue.')),
    parallel_tool_calls: Type.Optional(NullableBoolean('Allows several calls in one reply.')),
    tools: Type.Optional(Nullable(Type.Array(ToolSchema), { description: 'Tools that the model may call.' })),
    tool_choice: Type.Optional(ToolChoice),
    text: Type.Optional(Nullable(text, { description: 'Options of the text.' })),
    reasoning: Type.Optional(Nullable(reasoning, { description: 'Options of reasoning.' })),
    truncation: Type.Optional(
      Nullable(StringEnum(['auto', 'disabled']), { description: 'Accepted for compatibility.' }),
    ),
    top_logprobs: Type.Optional(
      Nullable(Type.Integer(), {
        description: 'Only 0 is supported.',
        'x-documented': { minimum: 0, maximum: 0 },
      }),
    ),
  },
  { $id: 'ModelResponseRequest', description: 'A request for a response.' },
)

/** A valid body of `POST /v1/responses`. Unknown fields are of unknown type. */
export type ResponsesBody = Static<typeof responsesRequestSchema>

/** A message, function call, call output or reasoning, according to `type`, which defaults to `message`. */
export interface InputItem extends JsonObject {
  readonly type?: string
}
