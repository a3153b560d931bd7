import {
  isJsonObject,
  type JsonObject,
  type RepliedExchange,
  type ReplyEvent,
  type ReplyPart,
  type Usage,
} from '../../core/contract/index.ts'
import {
  isAnswerText,
  streamedReply,
  toImageText,
  warnOfLostPart,
  wholeReply,
} from '../../core/dialects/reply-parts.ts'
import { buildMetadata, writeDecorated } from '../../core/dialects/signalbox-fields.ts'
import { formatError } from '../../core/http/errors.ts'
import { recordReplyError } from '../../core/pipeline/read-reply.ts'
import { relatedId } from '../../core/util/ids.ts'
import { parseJson } from '../../core/util/json.ts'
import { namesTarget } from '../../core/util/named-target.ts'
import { type BlockEvent, BlockEvents } from './block-events.ts'

/** Writes a message of Anthropic's Messages API as JSON, from a whole reply. */
export function buildMessage(exchange: RepliedExchange): string {
  const { parts } = wholeReply(exchange)
  const blocks = createBlockEvents(exchange)
  const ending = new MessageEnding()
  const content: Record<string, unknown>[] = []
  for (const part of parts) {
    ending.add(part)
    for (const event of blocks.add(toShownPart(exchange, part))) applyEvent(content, event)
  }
  for (const event of blocks.close()) applyEvent(content, event)
  const start = parts.find(({ type }) => type === 'start')
  const { delta, usage } = ending.build(blocks.hasCalls)
  const empty = buildEmptyMessage(exchange, start?.type === 'start' ? start.model : '')
  const message = Object.assign(empty, { content: content.map(withParsedInput) }, delta, { usage })
  return writeDecorated(message, extensionFields(exchange, exchange.decoration?.last()))
}

function createBlockEvents(exchange: RepliedExchange): BlockEvents {
  const { target, request } = exchange
  const isNamed = target === undefined || namesTarget(request.model, target)
  return new BlockEvents(asksForThinking(exchange), target, isNamed)
}

/** Messages have no images of the model: a text is in their place. Warns of what they cannot carry. */
function toShownPart(exchange: RepliedExchange, part: ReplyPart): ReplyPart {
  if (part.type === 'image') return { type: 'text', text: toImageText(exchange, part) }
  if (part.type === 'unread') warnOfLostPart(exchange, part)
  return part
}

/** Clients that do not ask for thinking often read the first block as the text. */
function asksForThinking({ request }: RepliedExchange): boolean {
  const fields = request.extra_content?.anthropic?.fields
  const thinking = isJsonObject(fields) ? fields.thinking : undefined
  return isJsonObject(thinking) && thinking.type !== 'disabled'
}

/** The message before its content. */
function buildEmptyMessage({ id, target, request }: RepliedExchange, model: string): JsonObject {
  return {
    id: relatedId('msg_', id),
    type: 'message',
    role: 'assistant',
    model: model || (target?.model ?? request.model ?? ''),
    container: null,
    content: [],
    diagnostics: null,
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
  }
}

/** The extension fields that messages have. Their `metadata` is always a map of strings. */
function extensionFields(
  { metadata }: Pick<RepliedExchange, 'metadata'>,
  decoration: JsonObject | undefined,
): JsonObject {
  if (!isJsonObject(decoration?.signalbox)) return {}
  const { signalbox } = decoration
  return { metadata: buildMetadata(metadata, signalbox, 'openai'), signalbox }
}

/** What is known when a reply has ended: why, and its usage. */
class MessageEnding {
  #usage: Usage | undefined
  #finish = 'stop'
  #refusal = ''
  #extra: JsonObject = {}

  add(part: ReplyPart): void {
    if (part.type === 'usage') this.#usage = part.usage
    else if (part.type === 'finish') this.#finish = part.reason
    else if (part.type === 'refusal') this.#refusal += part.text
    else if (part.type === 'extra' && part.place === 'message') this.#addExtra(part.content.anthropic ?? {})
  }

  /** Streams have such fields at their start and at their end. */
  #addExtra(added: JsonObject): void {
    const usage = { ...Object(this.#extra.usage), ...Object(added.usage) }
    this.#extra = { ...this.#extra, ...added, usage }
  }

  build(hasCalls: boolean): { readonly delta: JsonObject; readonly usage: JsonObject } {
    const { usage: _, stop_details, ...extra } = this.#extra
    const details = this.#refusal || isJsonObject(stop_details)
    return {
      delta: {
        container: null,
        stop_reason: this.#stopReason(hasCalls),
        stop_sequence: null,
        ...extra,
        stop_details: details
          ? { type: 'refusal', category: null, ...Object(stop_details), explanation: this.#refusal || null }
          : null,
      },
      usage: this.buildUsage(),
    }
  }

  #stopReason(hasCalls: boolean): string {
    if (this.#finish === 'length') return 'max_tokens'
    if (this.#finish === 'content_filter' || this.#refusal !== '') return 'refusal'
    // Some models end a forced call with the reason `stop`.
    return hasCalls ? 'tool_use' : 'end_turn'
  }

  /** `input_tokens` does not include tokens that were read from a cache or written to it. */
  buildUsage(): JsonObject {
    const { input = 0, output = 0, cached = 0, cacheWrite = 0, reasoning } = this.#usage ?? {}
    return {
      input_tokens: Math.max(0, input - cached - cacheWrite),
      cache_creation_input_tokens: cacheWrite,
      cache_read_input_tokens: cached,
      output_tokens: output,
      output_tokens_details: reasoning === undefined ? null : { thinking_tokens: reasoning },
      cache_creation: null,
      server_tool_use: null,
      service_tier: null,
      inference_geo: null,
      speed: null,
      ...(isJsonObject(this.#extra.usage) && this.#extra.usage),
    }
  }
}

/** Applies the event of a stream to the content of a whole message. */
function applyEvent(
  content: Record<string, unknown>[],
  { type, index, content_block, delta }: BlockEvent,
): void {
  if (type === 'content_block_start') content[index] = { ...Object(content_block) }
  const block = content[index]
  if (type !== 'content_block_delta' || block === undefined || !isJsonObject(delta)) return
  switch (delta.type) {
    case 'text_delta':
      block.text = `${block.text}${delta.text}`
      break
    case 'thinking_delta':
      block.thinking = `${block.thinking}${delta.thinking}`
      break
    case 'signature_delta':
      block.signature = delta.signature
      break
    case 'citations_delta':
      block.citations = [...(Array.isArray(block.citations) ? block.citations : []), delta.citation]
      break
    case 'input_json_delta':
      block.input = `${typeof block.input === 'string' ? block.input : ''}${delta.partial_json}`
      break
  }
}

/** Arguments that were cut off are not JSON. Anthropic recommends to wrap them. */
function withParsedInput(block: Readonly<Record<string, unknown>>): JsonObject {
  if (typeof block.input !== 'string') return block
  const input = parseJson(block.input)
  return { ...block, input: isJsonObject(input) ? input : { INVALID_JSON: block.input } }
}

/** Anthropic sends it at the start of a stream and in pauses. */
export const MESSAGE_PING = toSseRecord({ type: 'ping' })

/**
 * Streams the events of a message as SSE, in Anthropic's order. The message at the start and the event
 * `message_delta` at the end carry the extension fields. If the stream fails, it ends with the event `error`.
 */
export async function* streamMessageEvents(exchange: RepliedExchange): AsyncGenerator<string> {
  const batches = streamedReply(exchange)
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
    for await (const batch of batches) {
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
