import { GatewayError, type JsonObject, type RepliedExchange, type ReplyEvent } from '../../contract/index.ts'
import { formatError } from '../../http/errors.ts'
import { isAnswerText } from '../answer-text.ts'
import { recordReplyError } from '../stream-error.ts'
import {
  buildEmptyMessage,
  createBlockEvents,
  extensionFields,
  MessageEnding,
  toShownPart,
} from './message.ts'

/** Anthropic sends it at the start of a stream and in pauses. */
export const MESSAGE_PING = toSseRecord({ type: 'ping' })

/**
 * Streams the events of a message as SSE, in Anthropic's order. The message at the start and the event
 * `message_delta` at the end carry the extension fields. If the stream fails, it ends with the event `error`.
 */
export async function* streamMessageEvents(exchange: RepliedExchange): AsyncGenerator<string> {
  if (exchange.reply?.type !== 'stream')
    throw new GatewayError('internal_error', 'The exchange has no streamed reply.')
  const blocks = createBlockEvents(exchange)
  const ending = new MessageEnding()
  let hasStarted = false

  function start(model: string): string {
    hasStarted = true
    const message = {
      ...buildEmptyMessage(exchange, model),
      usage: ending.buildUsage(),
      ...extensionFields(exchange, exchange.decoration?.first()),
    }
    return toSseRecord({ type: 'message_start', message }) + MESSAGE_PING
  }

  function toText(event: ReplyEvent): string {
    const openText = blocks.openText
    let text = ''
    if (openText !== undefined && event.parts.every(isAnswerText)) {
      for (const part of event.parts) text += toTextRecord(openText, part.text)
      return text
    }
    for (const part of event.parts) ending.add(part)
    if (!hasStarted) text += start(modelOf(event))
    for (const part of event.parts)
      for (const each of blocks.add(toShownPart(exchange, part))) text += toSseRecord(each)
    return text
  }

  try {
    for await (const batch of exchange.reply.batches) {
      let text = ''
      for (const event of batch) text += toText(event)
      if (text !== '') yield text
    }
    let text = hasStarted ? '' : start('')
    for (const event of blocks.close()) text += toSseRecord(event)
    const extensions = extensionFields(exchange, exchange.decoration?.last())
    text += toSseRecord({ type: 'message_delta', ...ending.build(blocks.hasCalls), ...extensions })
    yield text + toSseRecord({ type: 'message_stop' })
  } catch (error) {
    if (exchange.client.isAborted) return
    yield toSseRecord(formatError(recordReplyError(exchange, error), 'anthropic', exchange.id))
  }
}

function modelOf({ parts }: ReplyEvent): string {
  const start = parts.find(({ type }) => type === 'start')
  return start?.type === 'start' ? start.model : ''
}

function toSseRecord(event: JsonObject): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** Most of a stream is text, so its events are not built as objects. */
function toTextRecord(index: number, text: string): string {
  return (
    'event: content_block_delta\n' +
    `data: {"type":"content_block_delta","index":${index},` +
    `"delta":{"type":"text_delta","text":${JSON.stringify(text)}}}\n\n`
  )
}
