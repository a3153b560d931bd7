import {
  type JsonObject,
  Nullable,
  type Static,
  StringEnum,
  type TSchema,
  Type,
} from '../../core/contract/index.ts'
import {
  AnyObject,
  Constant,
  ModelName,
  NullableBoolean,
  OpenObject,
  Text,
  Variants,
} from '../../core/dialects/schema-types.ts'

// The content blocks of messages, in requests. Blocks of other types are passed on to Anthropic.

/** A content block of any type, as validated requests hold it. */
export interface MessageBlock extends JsonObject {
  readonly type: string
}

/** Text, or a list of blocks. */
export type MessageContent = string | readonly MessageBlock[]

const cacheControl = Type.Optional(
  Nullable(AnyObject('Caching'), { description: 'Caches the prompt up to here, at Anthropic.' }),
)

function block($id: string, description: string, properties: Readonly<Record<string, TSchema>>) {
  return OpenObject({ ...properties, cache_control: cacheControl }, { $id, description })
}

const TextBlockInput = block('MessageTextParam', 'Text.', {
  type: Constant('text'),
  text: Text('The text.'),
})

const source = (description: string) =>
  OpenObject(
    {
      type: Text('base64, url, text, content or file.'),
      media_type: Type.Optional(Text('The media type, such as image/png.')),
      data: Type.Optional(Text('The content: Base64, or the text itself.')),
      url: Type.Optional(Text('An https URL.')),
    },
    { description },
  )

const ImageInput = block('MessageImageParam', 'An image.', {
  type: Constant('image'),
  source: source('Where the image is.'),
})

const DocumentInput = block('MessageDocumentParam', 'A document: a PDF or a text.', {
  type: Constant('document'),
  source: source('Where the document is.'),
  title: Type.Optional(Nullable(Type.String(), { description: 'Title of the document.' })),
})

const ToolUseInput = block('MessageToolUseParam', 'A call of a tool in an earlier reply.', {
  type: Constant('tool_use'),
  id: Text('Id of the call, which its result refers to.'),
  name: Text('Name of the tool.'),
  input: AnyObject('The arguments.'),
})

/** Blocks in the result of a tool. */
const ResultBlock = Type.Unsafe<MessageBlock>(
  Variants('type', [TextBlockInput, ImageInput, DocumentInput], {
    $id: 'MessageResultBlock',
    description: 'A content block of a result.',
  }),
)

const ToolResultInput = block('MessageToolResultParam', 'The result of a call.', {
  type: Constant('tool_result'),
  tool_use_id: Text('Id of the call.'),
  content: Type.Optional(contentOf(ResultBlock)),
  is_error: Type.Optional(Nullable(Type.Boolean(), { description: 'The call failed.' })),
})

const ThinkingInput = block('MessageThinkingParam', 'Thinking of an earlier reply, unchanged.', {
  type: Constant('thinking'),
  thinking: Text('The thinking.'),
  signature: Type.Optional(Text("The provider's signature; blocks without one are not sent to Anthropic.")),
})

const RedactedThinkingInput = block(
  'MessageRedactedThinkingParam',
  'Encrypted thinking of an earlier reply.',
  {
    type: Constant('redacted_thinking'),
    data: Text('The encrypted thinking.'),
  },
)

const InputBlock = Type.Unsafe<MessageBlock>(
  Variants(
    'type',
    [
      ...[TextBlockInput, ImageInput, DocumentInput, ToolUseInput, ToolResultInput],
      ...[ThinkingInput, RedactedThinkingInput],
    ],
    { $id: 'MessageInputBlock', description: 'A content block. Other types are passed on to Anthropic.' },
  ),
)

function contentOf(blockSchema: TSchema) {
  return Type.Unsafe<MessageContent>(
    Type.Union([Type.String(), Type.Array(blockSchema)], { description: 'Text, or a list of blocks.' }),
  )
}

/** The field `system`. */
const SystemPrompt = contentOf(TextBlockInput)

/** A message of the conversation. */
const MessageInput = OpenObject(
  {
    role: StringEnum(['user', 'assistant', 'system'], { description: 'The author.' }),
    content: contentOf(InputBlock),
  },
  { $id: 'MessageInput', description: 'A message of the conversation.' },
)

const ToolInput = OpenObject(
  {
    name: Type.Optional(Text('Name of the tool.')),
    type: Type.Optional(
      Nullable(Type.String(), { description: 'custom, or a tool that Anthropic provides.' }),
    ),
    description: Type.Optional(Nullable(Type.String(), { description: 'What the tool does.' })),
    input_schema: Type.Optional(
      Nullable(AnyObject('A JSON Schema'), { description: 'JSON Schema of the arguments.' }),
    ),
    strict: Type.Optional(NullableBoolean('Arguments always match the schema.')),
  },
  { $id: 'MessageTool', description: 'A tool that the model may call.' },
)

const ToolChoiceInput = OpenObject(
  {
    type: StringEnum(['auto', 'any', 'tool', 'none'], { description: 'Whether tools are called.' }),
    name: Type.Optional(Text('The tool to call, if type is tool.')),
    disable_parallel_tool_use: Type.Optional(NullableBoolean('At most one call.')),
  },
  { $id: 'MessageToolChoice', description: 'Which tools the model calls.' },
)

const Thinking = OpenObject(
  {
    type: Text('enabled, disabled, adaptive or between_tools.'),
    budget_tokens: Type.Optional(Type.Integer({ minimum: 0, description: 'Tokens of thinking.' })),
  },
  { $id: 'MessageThinkingConfig', description: 'Whether and how the model thinks.' },
)

const OutputConfig = OpenObject(
  {
    effort: Type.Optional(Nullable(Type.String(), { description: 'How thoroughly the model works.' })),
    format: Type.Optional(
      Nullable(
        OpenObject(
          {
            type: Text('Always json_schema.'),
            schema: Type.Optional(AnyObject('JSON Schema of the reply.')),
          },
          { $id: 'MessageOutputFormat', description: 'Format of the reply.' },
        ),
        { description: 'Format of the reply.' },
      ),
    ),
  },
  { $id: 'MessageOutputConfig', description: 'Effort and format of the reply.' },
)

const fields = {
  model: Type.Optional(Nullable(ModelName, { description: ModelName.description })),
  messages: Type.Array(MessageInput, { minItems: 1, description: 'The conversation so far.' }),
  system: Type.Optional(SystemPrompt),
  tools: Type.Optional(Nullable(Type.Array(ToolInput), { description: 'Tools that the model may call.' })),
  tool_choice: Type.Optional(Nullable(ToolChoiceInput, { description: 'Which tools the model calls.' })),
  thinking: Type.Optional(Nullable(Thinking, { description: 'Whether and how the model thinks.' })),
  output_config: Type.Optional(Nullable(OutputConfig, { description: 'Effort and format of the reply.' })),
  stop_sequences: Type.Optional(
    Nullable(Type.Array(Type.String()), { description: 'Texts that end the reply.' }),
  ),
  temperature: Type.Optional(
    Nullable(Type.Number({ minimum: 0, maximum: 1 }), { description: 'Randomness.' }),
  ),
  top_p: Type.Optional(
    Nullable(Type.Number({ minimum: 0, maximum: 1 }), {
      description: 'Share of the probability mass that is sampled from.',
    }),
  ),
  top_k: Type.Optional(Nullable(Type.Integer({ minimum: 0 }), { description: 'Tokens to sample from.' })),
  metadata: Type.Optional(
    Nullable(
      OpenObject({ user_id: Type.Optional(Nullable(Type.String(), { description: 'An id of your user.' })) }),
      { description: 'Metadata for routing rules. Anthropic receives it, too.' },
    ),
  ),
  service_tier: Type.Optional(Text("Anthropic's service tier: auto or standard_only.")),
  cache_control: Type.Optional(
    Nullable(AnyObject('Caching'), { description: 'Caches the prompt up to its last block, at Anthropic.' }),
  ),
  stream: Type.Optional(NullableBoolean('Streams the reply as events.')),
  thread: Type.Optional(
    Nullable(AnyObject('A thread'), {
      description: 'A conversation that Anthropic holds. Refused: send the whole conversation instead.',
    }),
  ),
}

/** The body of `POST /v1/messages` (docs/api.md, "Messages"). Unknown fields are passed on to Anthropic. */
export const messagesRequestSchema = OpenObject(
  {
    ...fields,
    max_tokens: Type.Integer({ minimum: 0, description: 'Maximum length of the reply, in tokens.' }),
  },
  { $id: 'MessageRequest', description: "A request in the format of Anthropic's Messages API." },
)

/** The body of `POST /v1/messages/count_tokens`. */
export const countTokensRequestSchema = OpenObject(
  {
    ...fields,
    max_tokens: Type.Optional(
      Nullable(Type.Integer({ minimum: 0 }), { description: 'Not used: nothing is generated.' }),
    ),
  },
  { $id: 'CountTokensRequest', description: 'A message whose input tokens are counted.' },
)

/** A validated body of either endpoint. */
export type MessagesBody = Static<typeof countTokensRequestSchema>
