import { Nullable, StringEnum, type TSchema, Type } from '../../core/contract/index.ts'
import { ResponseMetadata, SignalboxSchema } from '../../core/dialects/inference-description.ts'
import {
  AnyObject,
  Constant,
  NullableText,
  OpenObject,
  Text,
  Variants,
} from '../../core/dialects/schema-types.ts'
import { errorBodySchema } from '../../core/http/errors.ts'

// The responses of `POST /v1/messages`.

const tokens = (description: string) => Type.Integer({ minimum: 0, description })

const TextBlockSchema = OpenObject(
  {
    type: Constant('text'),
    text: Text('The text.'),
    citations: Type.Optional(
      Nullable(Type.Array(AnyObject('A citation.')), { description: 'What the text is based on.' }),
    ),
  },
  { $id: 'MessageText', description: 'Text.' },
)

const ThinkingBlockSchema = OpenObject(
  {
    type: Constant('thinking'),
    thinking: Text('The thinking.'),
    signature: Text('To be sent back unchanged; empty if the provider signs nothing.'),
  },
  { $id: 'MessageThinking', description: 'Thinking of the model.' },
)

const ToolUseBlockSchema = OpenObject(
  {
    type: Constant('tool_use'),
    id: Text('Id of the call, which its result refers to.'),
    name: Text('Name of the tool.'),
    input: AnyObject('The arguments.'),
  },
  { $id: 'MessageToolUse', description: 'A call of a tool.' },
)

/** A field that is null unless Anthropic answered. */
function ofAnthropic(description: string) {
  return Nullable(AnyObject(description), { description })
}

/** A content block of a reply. */
const MessageBlockSchema = Variants('type', [TextBlockSchema, ThinkingBlockSchema, ToolUseBlockSchema], {
  $id: 'MessageBlock',
  description: 'A content block. Anthropic may send blocks of other types.',
})

/** Token counts of a message. */
export const MessageUsageSchema = OpenObject(
  {
    input_tokens: tokens('Tokens of the prompt, without those of caches.'),
    output_tokens: tokens('Tokens of the reply.'),
    cache_creation_input_tokens: tokens('Tokens that were written to the cache.'),
    cache_read_input_tokens: tokens('Tokens that were read from the cache.'),
    output_tokens_details: Nullable(
      OpenObject(
        { thinking_tokens: tokens('Tokens of thinking.') },
        { $id: 'MessageOutputDetails', description: 'Details of the reply.' },
      ),
      { description: 'Details of the reply, if the provider has them.' },
    ),
    cache_creation: ofAnthropic('What was written to the cache.'),
    server_tool_use: ofAnthropic('Uses of tools that Anthropic runs.'),
    service_tier: Nullable(Type.String(), { description: 'The service tier, if Anthropic answered.' }),
    inference_geo: Nullable(Type.String(), { description: 'The region, if Anthropic answered.' }),
    speed: Nullable(Type.String(), { description: 'The speed, if Anthropic answered.' }),
  },
  { $id: 'MessageUsage', description: 'Token usage.' },
)

const STOP_REASONS = [
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
] as const

/** The fields that say why a message ended. */
const endFields = {
  stop_reason: Nullable(StringEnum(STOP_REASONS), { description: 'Why the model stopped; null until then.' }),
  stop_sequence: NullableText('The stop sequence that ended the reply, if one did.'),
  stop_details: Nullable(AnyObject('Details.'), { description: 'Why the model refused, if it did.' }),
}

/** The gateway's own fields. */
const messageExtensions = {
  metadata: Type.Optional(ResponseMetadata),
  signalbox: Type.Optional(SignalboxSchema),
} satisfies Readonly<Record<string, TSchema>>

export const MessageSchema = OpenObject(
  {
    id: Text('Id of the message.'),
    type: Constant('message'),
    role: Constant('assistant'),
    model: Text('The model that answered.'),
    content: Type.Array(MessageBlockSchema, { description: 'The content of the reply.' }),
    container: ofAnthropic("The container of Anthropic's tools."),
    diagnostics: ofAnthropic('Diagnostics of Anthropic.'),
    ...endFields,
    usage: MessageUsageSchema,
    ...messageExtensions,
  },
  { $id: 'Message', description: "A reply in the format of Anthropic's Messages API." },
)

// The events of streamed messages.

const index = Type.Integer({ minimum: 0, description: 'Number of the block, from 0.' })

const MessageStart = OpenObject(
  { type: Constant('message_start'), message: MessageSchema },
  { $id: 'MessageStartEvent', description: 'The message, without content.' },
)

const Ping = OpenObject(
  { type: Constant('ping') },
  { $id: 'MessagePingEvent', description: 'Nothing to report.' },
)

const BlockStart = OpenObject(
  { type: Constant('content_block_start'), index, content_block: MessageBlockSchema },
  { $id: 'MessageBlockStartEvent', description: 'A content block begins.' },
)

const Delta = OpenObject(
  {
    type: Text('text_delta, thinking_delta, signature_delta, input_json_delta or citations_delta.'),
    text: Type.Optional(Text('More text.')),
    thinking: Type.Optional(Text('More thinking.')),
    signature: Type.Optional(Text('The signature of the thinking.')),
    partial_json: Type.Optional(Text('More of the arguments, as JSON text.')),
    citation: Type.Optional(AnyObject('What the text is based on.')),
  },
  { $id: 'MessageBlockDelta', description: 'What is added to a block.' },
)

const BlockDelta = OpenObject(
  { type: Constant('content_block_delta'), index, delta: Delta },
  { $id: 'MessageBlockDeltaEvent', description: 'More of a content block.' },
)

const BlockStop = OpenObject(
  { type: Constant('content_block_stop'), index },
  { $id: 'MessageBlockStopEvent', description: 'A content block is complete.' },
)

const MessageDelta = OpenObject(
  {
    type: Constant('message_delta'),
    delta: OpenObject(endFields, { $id: 'MessageEnd', description: 'Why the message ended.' }),
    usage: MessageUsageSchema,
    ...messageExtensions,
  },
  { $id: 'MessageDeltaEvent', description: 'The message is complete.' },
)

const MessageStop = OpenObject(
  { type: Constant('message_stop') },
  { $id: 'MessageStopEvent', description: 'The last event.' },
)

/** An event of a stream that has not failed. */
export const MessageEvent = Variants(
  'type',
  [MessageStart, Ping, BlockStart, BlockDelta, BlockStop, MessageDelta, MessageStop],
  { isClosed: true, $id: 'MessageEvent', description: 'An event of a message.' },
)

/** The `data` of every record of a stream. */
export const MessageStreamEvent = Type.Union([MessageEvent, errorBodySchema('anthropic')], {
  $id: 'MessageStreamEvent',
  description: 'An event, or the error that ends the stream.',
})
