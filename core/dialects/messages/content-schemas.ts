import { type JsonObject, Nullable, StringEnum, type TSchema, Type } from '../../contract/index.ts'
import { AnyObject, Constant, OpenObject, Text, Variants } from '../schema-types.ts'

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
export const SystemPrompt = contentOf(TextBlockInput)

/** A message of the conversation. */
export const MessageInput = OpenObject(
  {
    role: StringEnum(['user', 'assistant', 'system'], { description: 'The author.' }),
    content: contentOf(InputBlock),
  },
  { $id: 'MessageInput', description: 'A message of the conversation.' },
)
