import {
  type JsonObject,
  Nullable,
  StringEnum,
  type ToolCall,
  type TSchema,
  Type,
} from '../../contract/index.ts'
import { AnyObject, OpenObject, Text, Variants } from '../schema-types.ts'

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
export interface AnyMessage extends JsonObject {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  readonly content?: string | readonly AnyPart[] | null
  /** Each has a function, or what `checkToolCalls` accepts in its place. */
  readonly tool_calls?: readonly ToolCall[] | null
  readonly tool_call_id?: string
}

export const ChatMessageSchema = Type.Unsafe<AnyMessage>(
  Variants('role', [instructions, userMessage, assistantMessage, toolMessage, functionMessage], {
    isClosed: true,
    $id: 'ChatMessage',
    description: 'A message of the conversation.',
  }),
)
