import type { JsonObject, Message } from '../contract/index.ts'
import { isJsonObject } from '../contract/index.ts'

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
