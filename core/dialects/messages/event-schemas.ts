import { Type } from '../../contract/index.ts'
import { errorBodySchema } from '../../http/errors.ts'
import { AnyObject, Constant, OpenObject, Text, Variants } from '../schema-types.ts'
import {
  endFields,
  MessageBlockSchema,
  MessageSchema,
  MessageUsageSchema,
  messageExtensions,
} from './response-schemas.ts'

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
