import {
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Message,
  type RepliedExchange,
  type ReplyEvent,
  type ReplyPart,
} from '../contract/index.ts'
import { parseDataUrl } from '../inspection/data-url.ts'

type Warned = Pick<RepliedExchange, 'warnings' | 'target'>

/** Warns the caller of a part of the reply if no endpoint but that of its provider's format can carry it. */
export function warnOfLostPart(exchange: Warned, part: ReplyPart): void {
  const name = nameOfLost(part)
  if (name !== undefined) warnOfLost(exchange, name)
}

/** Warns the caller that the reply holds something that the endpoint cannot carry. */
function warnOfLost({ warnings, target }: Warned, name: string): void {
  const model = target?.model ?? 'the model'
  const message = `The reply of ${model} holds ${name}, which this endpoint cannot carry.`
  if (warnings.some((warning) => warning.message === message)) return
  warnings.push({ code: 'reply', message, scope: 'response' })
}

function nameOfLost(part: ReplyPart): string | undefined {
  if (part.type === 'unread') return part.name
  if (part.type !== 'extra' || part.place !== 'block') return undefined
  const type = part.content.anthropic?.type
  return type === undefined || type === 'redacted_thinking' ? undefined : String(type)
}

type Image = Extract<ReplyPart, { readonly type: 'image' }>

/**
 * Returns the text in place of an image, for endpoints whose replies have no images. Base64 is not part of
 * it: clients send replies back, and models would read it as text.
 */
export function toImageText(exchange: Warned, { url }: Image): string {
  const data = parseDataUrl(url)
  if (data === undefined) return `![image](${url})`
  warnOfLost(exchange, `an image (${data.mediaType})`)
  return `[The model replied with an image (${data.mediaType}), which this endpoint cannot carry.]`
}

/** A message with images of an earlier reply: they are sent back as images of the user, which models read. */
export function toReplyImages(urls: readonly string[]): Message {
  return {
    role: 'user',
    content: [
      { type: 'text', text: 'From the earlier reply:' },
      ...urls.map((url) => ({ type: 'image_url', image_url: { url } })),
    ],
  }
}

/**
 * Moves the `images` of earlier replies, as `toCompletionImage` writes them, to messages behind the results
 * of their calls. Returns the same list if there are none. `indexes` receives the former index of each
 * message, or -1 for a new one.
 */
export function withReplyImages(messages: readonly Message[], indexes?: number[]): readonly Message[] {
  if (!messages.some(({ images }) => images != null)) return messages
  const moved: Message[] = []
  let urls: string[] = []
  const endTurn = () => {
    if (urls.length > 0) {
      moved.push(toReplyImages(urls))
      indexes?.push(-1)
    }
    urls = []
  }
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'tool') endTurn()
    const { images, ...others } = message
    moved.push(images === undefined ? message : (others as Message))
    indexes?.push(index)
    if (message.role === 'assistant') urls = urlsOf(images)
  }
  endTurn()
  return moved
}

function urlsOf(images: unknown): string[] {
  if (!Array.isArray(images)) return []
  return images.filter(isJsonObject).flatMap(({ image_url }: JsonObject) => {
    const url = isJsonObject(image_url) ? image_url.url : image_url
    return typeof url === 'string' ? [url] : []
  })
}

/** True for the text of an answer, which most parts of a stream are; false for reasoning and refusals. */
export function isAnswerText(part: ReplyPart): part is Extract<ReplyPart, { readonly type: 'text' }> {
  return part.type === 'text'
}

/** Returns the one event of a reply that is not streamed. */
export function wholeReply({ reply }: Pick<RepliedExchange, 'reply'>): ReplyEvent {
  if (reply?.type === 'whole') return reply.event
  throw new GatewayError('internal_error', 'The exchange has no whole reply.')
}

/** Returns the batches of a reply that is streamed. */
export function streamedReply({
  reply,
}: Pick<RepliedExchange, 'reply'>): AsyncIterable<readonly ReplyEvent[]> {
  if (reply?.type === 'stream') return reply.batches
  throw new GatewayError('internal_error', 'The exchange has no streamed reply.')
}
