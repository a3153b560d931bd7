import { type JsonObject, Nullable, StringEnum, Type } from '../../contract/index.ts'
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
import { ChatMessageSchema } from './message-schemas.ts'

/** A tool in the chat-completions format. */
export const chatToolSchema = OpenObject(
  {
    type: Text('Kind of the tool: function.'),
    function: Type.Optional(
      OpenObject(
        {
          name: Type.String({ minLength: 1, description: 'Name of the function.' }),
          description: Type.Optional(
            Type.Unsafe<unknown>({ type: ['string', 'null'], description: 'What it does.' }),
          ),
          parameters: Type.Optional(
            Nullable(AnyObject('A JSON Schema'), { description: 'JSON Schema of the arguments.' }),
          ),
          strict: Type.Optional(
            Type.Unsafe<unknown>({
              type: ['boolean', 'null'],
              description: 'Arguments always match the schema.',
            }),
          ),
        },
        { description: 'The function.' },
      ),
    ),
  },
  { $id: 'ChatTool', description: 'A tool that the model may call.' },
)

const nullableCount = (description: string) => Nullable(Type.Integer({ minimum: 1 }), { description })

/** A list of stop sequences, or one. */
const stop = Type.Unsafe<string | readonly string[] | null>(
  Type.Union([Type.String(), Type.Array(Type.String()), Type.Null()], { description: 'Stop sequences.' }),
)

/** The tool that the model must call. */
const ChosenTool = OpenObject(
  { type: Type.Optional(Text('Kind of the tool, such as function.')) },
  { additionalProperties: true, $id: 'ChosenTool', description: 'The tool to call.' },
)

/** Which tool the model calls. */
export const ToolChoice = Type.Unsafe<string | JsonObject | null>(
  Type.Union([Type.String(), ChosenTool, Type.Null()], {
    description: 'auto, none, required, or the tool to call.',
  }),
)

const responseFormat = Type.Unsafe<{ readonly type: string } & JsonObject>(
  Variants(
    'type',
    [
      OpenObject(
        { type: StringEnum(['text', 'json_object'], { description: 'Text, or any JSON object.' }) },
        { $id: 'ChatSimpleFormat', description: 'A format without a schema.' },
      ),
      OpenObject(
        {
          type: Type.Literal('json_schema', { description: 'Always json_schema.' }),
          json_schema: Type.Optional(AnyObject('Name, schema, description and strict.')),
        },
        { $id: 'ChatSchemaFormat', description: 'JSON that matches a schema.' },
      ),
    ],
    { isClosed: true, $id: 'ChatResponseFormat', description: 'Format of the reply.' },
  ),
)

/** The chat-completions body (docs/api.md, "Chat completions"). Unknown fields are passed through. */
export const chatRequestSchema = OpenObject(
  {
    model: Type.Optional(Nullable(ModelName, { description: ModelName.description })),
    messages: Type.Array(ChatMessageSchema, { minItems: 1, description: 'The conversation so far.' }),
    temperature: Type.Optional(NullableNumber(0, 2, 'Randomness.')),
    top_p: Type.Optional(NullableNumber(0, 1, 'Share of the probability mass that is sampled from.')),
    presence_penalty: Type.Optional(NullableNumber(-2, 2, 'Penalty of tokens that have occurred.')),
    frequency_penalty: Type.Optional(NullableNumber(-2, 2, 'Penalty of tokens by their frequency.')),
    max_tokens: Type.Optional(nullableCount('Maximum length of the reply, in tokens.')),
    max_completion_tokens: Type.Optional(nullableCount('Maximum length of the reply, in tokens.')),
    n: Type.Optional(
      Nullable(Type.Integer({ minimum: 1 }), {
        description: 'Only 1 is supported.',
        'x-documented': { maximum: 1 },
      }),
    ),
    stream: Type.Optional(NullableBoolean('Streams the reply as events.')),
    stream_options: Type.Optional(
      Nullable(
        OpenObject({ include_usage: Type.Optional(NullableBoolean('Adds the usage to the stream.')) }),
        { description: 'Options of a stream.' },
      ),
    ),
    stop: Type.Optional(stop),
    user: Type.Optional(NullableText('An id of your user, or metadata as JSON text.')),
    metadata: Type.Optional(Nullable(AnyObject('Metadata'), { description: 'Metadata for routing rules.' })),
    tools: Type.Optional(
      Nullable(Type.Array(chatToolSchema), { description: 'Tools that the model may call.' }),
    ),
    tool_choice: Type.Optional(ToolChoice),
    response_format: Type.Optional(Nullable(responseFormat, { description: 'Format of the reply.' })),
    logit_bias: Type.Optional(Nullable(AnyObject('Bias by token'), { description: 'Bias by token.' })),
    seed: Type.Optional(
      Nullable(Type.Integer(), { description: 'Makes replies reproducible, if possible.' }),
    ),
    logprobs: Type.Optional(
      Nullable(Type.Boolean(), {
        description: 'Not supported: must not be true.',
        'x-documented': { not: { const: true } },
      }),
    ),
  },
  { $id: 'ChatCompletionRequest', description: 'A request for a chat completion.' },
)
