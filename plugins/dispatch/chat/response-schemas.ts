import { Nullable, StringEnum, type TProperties, Type } from '../../../core/contract/index.ts'
import { ResponseMetadata, SignalboxSchema } from '../../../core/dialects/inference-description.ts'
import { AlwaysNull, AnyObject, NullableText, OpenObject, Text } from '../../../core/dialects/schema-types.ts'

// The responses of chat completions: whole completions and the chunks of streams.

const tokens = (description: string) => Type.Integer({ minimum: 0, description })

const FinishReason = StringEnum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'], {
  description: 'Why the model stopped.',
})

const Usage = OpenObject(
  {
    prompt_tokens: tokens('Tokens of the prompt.'),
    completion_tokens: tokens('Tokens of the reply.'),
    total_tokens: tokens('All tokens.'),
    prompt_tokens_details: Type.Optional(
      OpenObject(
        { cached_tokens: Type.Optional(tokens('Tokens that were read from the cache.')) },
        { $id: 'PromptTokensDetails', description: 'Details of the prompt.' },
      ),
    ),
    completion_tokens_details: Type.Optional(
      OpenObject(
        { reasoning_tokens: Type.Optional(tokens('Tokens of reasoning.')) },
        { $id: 'CompletionTokensDetails', description: 'Details of the reply.' },
      ),
    ),
  },
  { $id: 'CompletionUsage', description: 'Token usage.' },
)

const extraContent = Type.Optional(AnyObject("Provider data to send back with the call's result."))

const MessageToolCall = OpenObject(
  {
    id: Text('Id of the call.'),
    type: Type.Literal('function', { description: 'Always function.' }),
    function: OpenObject(
      { name: Text('Name of the function.'), arguments: Text('The arguments as JSON text.') },
      { $id: 'CalledFunction', description: 'The called function.' },
    ),
    extra_content: extraContent,
  },
  { $id: 'MessageToolCall', description: 'A call of a function.' },
)

const images = Type.Optional(
  Type.Array(
    OpenObject(
      {
        type: Type.Literal('image_url', { description: 'Always image_url.' }),
        index: Type.Optional(Type.Integer({ minimum: 0, description: 'Number of the image in the reply.' })),
        image_url: OpenObject({ url: Text('An https or data URL.') }, { description: 'The image.' }),
      },
      { $id: 'ChatReplyImage', description: 'An image of a reply. It can be sent back in the message.' },
    ),
    { description: 'Images, of models that reply with some.' },
  ),
)

const AssistantReply = OpenObject(
  {
    role: Type.Literal('assistant', { description: 'Always assistant.' }),
    content: NullableText('The text; null if there is none.'),
    refusal: NullableText('The refusal; null if the model did not refuse.'),
    reasoning_content: Type.Optional(NullableText('The reasoning that the provider discloses.')),
    tool_calls: Type.Optional(Type.Array(MessageToolCall, { description: 'Calls of functions.' })),
    images,
  },
  { $id: 'ChatReply', description: 'The reply of the model.' },
)

export const logprobs = AlwaysNull('log probabilities are not supported')

const index = Type.Integer({ minimum: 0, description: 'Always 0.' })

const Choice = OpenObject(
  { index, message: AssistantReply, logprobs, finish_reason: FinishReason },
  { $id: 'ChatChoice', description: 'A reply.' },
)

/** The fields that completions and direct-routing results share. */
export const completionFields = {
  created: Type.Integer({ format: 'int64', description: 'Unix time in seconds.' }),
  model: Text('The model that answered.'),
  choices: Type.Array(Choice, { description: 'Always one reply.' }),
  usage: Type.Optional(Usage),
}

const extensions = {
  provider: Text('The provider that answered.'),
  routing_mode: Text('The routing mode.'),
  x_request_id: Text('Id of the request.'),
  metadata: ResponseMetadata,
  signalbox: SignalboxSchema,
}

const latency_ms = Type.Integer({ minimum: 0, description: 'Time to the reply, in milliseconds.' })

/** The gateway's own fields of a whole reply. */
export const replyExtensions = { ...extensions, latency_ms }

export const ChatCompletion = OpenObject(
  {
    id: Text('Id of the completion.'),
    object: Type.Literal('chat.completion', { description: 'Always chat.completion.' }),
    ...completionFields,
    ...extensions,
    latency_ms,
  },
  { $id: 'ChatCompletion', description: 'A reply in the format of chat completions.' },
)

const ChunkToolCall = OpenObject(
  {
    index: Type.Integer({ minimum: 0, description: 'Number of the call in the reply, from 0.' }),
    id: Type.Optional(Text('Id of the call; in its first chunk.')),
    type: Type.Optional(Type.Literal('function', { description: 'Always function; in the first chunk.' })),
    function: Type.Optional(
      OpenObject(
        {
          name: Type.Optional(Text('Name of the function; in the first chunk.')),
          arguments: Type.Optional(Text('More of the arguments, as JSON text.')),
        },
        { $id: 'CalledFunctionDelta', description: 'More of the called function.' },
      ),
    ),
    extra_content: extraContent,
  },
  { $id: 'ChunkToolCall', description: 'More of a call of a function.' },
)

const Delta = OpenObject(
  {
    role: Type.Optional(Type.Literal('assistant', { description: 'In the first chunk.' })),
    content: Type.Optional(NullableText('More text.')),
    refusal: Type.Optional(NullableText('More of a refusal.')),
    reasoning_content: Type.Optional(NullableText('More reasoning.')),
    tool_calls: Type.Optional(Type.Array(ChunkToolCall, { description: 'More of the calls.' })),
    images,
  },
  { $id: 'ChatDelta', description: 'What a chunk adds to the reply.' },
)

const ChunkChoice = OpenObject(
  {
    index,
    delta: Delta,
    logprobs: Type.Optional(logprobs),
    finish_reason: Nullable(FinishReason, { description: 'Why the model stopped; null until then.' }),
  },
  { $id: 'ChunkChoice', description: 'What a chunk adds to the reply.' },
)

export function optionalFields(fields: TProperties): TProperties {
  return Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, Type.Optional(schema)]))
}

export const ChatCompletionChunk = OpenObject(
  {
    id: Text('Id of the completion.'),
    object: Type.Literal('chat.completion.chunk', { description: 'Always chat.completion.chunk.' }),
    created: completionFields.created,
    model: completionFields.model,
    choices: Type.Array(ChunkChoice, { description: 'One item, or none in the chunk with the usage.' }),
    usage: Type.Optional(Nullable(Usage, { description: 'In the last chunk, if requested.' })),
    ...optionalFields({ ...extensions, latency_ms }),
  },
  { $id: 'ChatCompletionChunk', description: 'A record of a stream. The last record is the text [DONE].' },
)
