import {
  type JsonObject,
  Nullable,
  StringEnum,
  type ToolCall,
  type TSchema,
  Type,
} from '../../../core/contract/index.ts'
import {
  AnyObject,
  ModelName,
  NullableBoolean,
  NullableNumber,
  NullableText,
  OpenObject,
  Text,
  ToolChoice,
  Variants,
} from '../../../core/dialects/schema-types.ts'

// The messages of chat completions, in requests.

const TextPart = OpenObject(
  { type: Type.Literal('text', { description: 'Always text.' }), text: Text('The text.') },
  { $id: 'ChatTextPart', description: 'Text.' },
)

const ImagePart = OpenObject(
  {
    type: Type.Literal('image_url', { description: 'Always image_url.' }),
    image_url: OpenObject(
      {
        url: Text('An https or data URL.'),
        detail: Type.Optional(Nullable(Type.String(), { description: 'auto, low or high.' })),
      },
      { description: 'The image.' },
    ),
  },
  { $id: 'ChatImagePart', description: 'An image.' },
)

const AudioPart = OpenObject(
  {
    type: Type.Literal('input_audio', { description: 'Always input_audio.' }),
    input_audio: OpenObject(
      { data: Text('The audio in Base64.'), format: Text('wav or mp3.') },
      { description: 'The audio.' },
    ),
  },
  { $id: 'ChatAudioPart', description: 'Audio.' },
)

const FilePart = OpenObject(
  {
    type: Type.Literal('file', { description: 'Always file.' }),
    file: OpenObject(
      {
        file_data: Type.Optional(Text('The file as a data URL, or in Base64.')),
        file_url: Type.Optional(Text('An https URL, for providers that read files by URL.')),
        file_id: Type.Optional(Text('Id of a file at the provider.')),
        filename: Type.Optional(Text('Name of the file.')),
      },
      { description: 'The file.' },
    ),
  },
  { $id: 'ChatFilePart', description: 'A file.' },
)

const RefusalPart = OpenObject(
  { type: Type.Literal('refusal', { description: 'Always refusal.' }), refusal: Text('The refusal.') },
  { $id: 'ChatRefusalPart', description: 'A refusal of an earlier reply.' },
)

/** A content part of any kind, as validated requests hold it. */
interface AnyPart extends JsonObject {
  readonly type: string
  readonly text?: string
}

const ContentPart = Type.Unsafe<AnyPart>(
  Variants('type', [TextPart, ImagePart, AudioPart, FilePart, RefusalPart], {
    $id: 'ChatContentPart',
    description: 'A part of a message.',
  }),
)

const content = Type.Unsafe<string | readonly AnyPart[]>(
  Type.Union([Type.String(), Type.Array(ContentPart)], { description: 'Text, or a list of parts.' }),
)

const nullableContent = Type.Unsafe<string | readonly AnyPart[] | null>(
  Type.Union([Type.String(), Type.Array(ContentPart), Type.Null()], {
    description: 'Text, or a list of parts; null if the message has none.',
  }),
)

const name = Type.Optional(Type.Unsafe<unknown>({ type: 'string', description: 'Name of the author.' }))

/** Filled in where they are missing. */
const callArguments = Type.Unsafe<string>(
  Type.Optional(Nullable(Type.String(), { description: 'The arguments as JSON text. Default: {}.' })),
)

/** A call of a function in a message. */
const ToolCallSchema = OpenObject(
  {
    id: Text('Id of the call, which its result refers to.'),
    type: Type.Optional(Text('function or custom.')),
    function: Type.Optional(
      OpenObject(
        { name: Text('Name of the function.'), arguments: callArguments },
        { description: 'The called function.' },
      ),
    ),
    custom: Type.Optional(
      OpenObject(
        { name: Text('Name of the tool.'), input: Text('The input, as the model wrote it.') },
        { description: 'The called custom tool, in place of a function.' },
      ),
    ),
    extra_content: Type.Optional(AnyObject("Provider data to send back with the call's result.")),
  },
  { $id: 'ChatToolCall', description: 'A call of a function.' },
)

const instructions = message('ChatInstructions', 'Instructions of the application.', {
  role: StringEnum(['system', 'developer'], { description: 'The author.' }),
  content,
})

const userMessage = message('ChatUserMessage', 'A message of the user.', {
  role: Type.Literal('user', { description: 'Always user.' }),
  content,
})

const assistantMessage = message('ChatAssistantMessage', 'An earlier reply of the model.', {
  role: Type.Literal('assistant', { description: 'Always assistant.' }),
  content: Type.Optional(nullableContent),
  tool_calls: Type.Optional(Nullable(Type.Array(ToolCallSchema), { description: 'Calls of functions.' })),
})

const toolMessage = message('ChatToolMessage', 'The result of a call.', {
  role: Type.Literal('tool', { description: 'Always tool.' }),
  content,
  tool_call_id: Type.Optional(Text('Id of the call.')),
})

const functionMessage = message('ChatFunctionMessage', 'The result of a call, in the old format.', {
  role: Type.Literal('function', { description: 'Always function.' }),
  content: Type.Optional(nullableContent),
})

function message($id: string, description: string, properties: Readonly<Record<string, TSchema>>) {
  return OpenObject({ ...properties, name }, { $id, description })
}

/** A message of any role, as validated requests hold it: results of functions have become those of tools. */
interface AnyMessage extends JsonObject {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  readonly content?: string | readonly AnyPart[] | null
  /** Each has a function, or what `checkToolCalls` accepts in its place. */
  readonly tool_calls?: readonly ToolCall[] | null
  readonly tool_call_id?: string
}

const ChatMessageSchema = Type.Unsafe<AnyMessage>(
  Variants('role', [instructions, userMessage, assistantMessage, toolMessage, functionMessage], {
    isClosed: true,
    $id: 'ChatMessage',
    description: 'A message of the conversation.',
  }),
)

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
