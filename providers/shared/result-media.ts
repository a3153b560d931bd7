import type { ContentPart, Message } from '../../core/contract/chat.ts'
import type { Target } from '../../core/contract/provider.ts'
import { unsupportedParameterError } from './request-errors.ts'

/** The types of parts, besides texts, that messages to a provider may hold. */
export interface MediaPlaces {
  /** In the result of a tool. */
  readonly results: ReadonlySet<string>
  /** In a message of the user; undefined if any part can be sent there. */
  readonly user?: ReadonlySet<string>
}

/** For formats whose tool results are texts only. */
export const TEXT_RESULTS: ReadonlySet<string> = new Set()

interface PlacedMessages {
  readonly messages: readonly Message[]
  /** Media of results that were left out, such as `images in tool results`. */
  readonly omitted: readonly string[]
}

/** Parts that every provider gets in some form. */
const TEXTS: ReadonlySet<string> = new Set(['text', 'refusal', 'extra_content'])

const IMAGE = 'image_url'

/**
 * Places the media of tool results where the provider accepts them: in the result, or else in a message of
 * the user behind the last result of the turn. What it accepts nowhere is left out, and named in the result:
 * such a result would fail every later turn of the conversation. Throws a `GatewayError` for an image of the
 * user if the model reads none.
 */
export function placeResultMedia(
  messages: readonly Message[],
  places: MediaPlaces,
  target: Target,
): PlacedMessages {
  const readsImages = target.entry?.capabilities.images !== false
  if (!readsImages) checkUserImages(messages, target.model)
  const canHold = (accepted: ReadonlySet<string> | undefined, { type }: ContentPart) =>
    TEXTS.has(type) || ((readsImages || type !== IMAGE) && (accepted === undefined || accepted.has(type)))
  const isPlaced = ({ role, content }: Message) =>
    role !== 'tool' || !Array.isArray(content) || content.every((part) => canHold(places.results, part))
  if (messages.every(isPlaced)) return { messages, omitted: [] }

  const placed: Message[] = []
  const omitted = new Set<string>()
  let moved: ContentPart[] = []
  let resultCount = 0

  function toResult(message: Message): Message {
    const ofResult: ContentPart[] = []
    const content = contentOf(message).map((part) => {
      if (canHold(places.results, part)) return part
      const name = NAMES.get(part.type) ?? 'content'
      if (canHold(places.user, part)) {
        ofResult.push(part)
        return toText(`[The ${name} follows the results.]`)
      }
      omitted.add(`${name} in tool results`)
      return toText(`[The ${name} was left out, because the model does not read it.]`)
    })
    if (ofResult.length > 0) moved.push(toText(`From tool result ${resultCount}:`), ...ofResult)
    return {
      ...message,
      content: content.every(isPlainText) ? content.map(({ text }) => text).join('\n') : content,
    }
  }

  function endResults(): void {
    if (moved.length > 0) placed.push({ role: 'user', content: moved })
    moved = []
    resultCount = 0
  }

  for (const message of messages) {
    if (message.role !== 'tool') endResults()
    else resultCount++
    placed.push(isPlaced(message) ? message : toResult(message))
  }
  endResults()
  return { messages: placed, omitted: [...omitted] }
}

const NAMES: ReadonlyMap<string, string> = new Map([
  [IMAGE, 'image'],
  ['file', 'file'],
  ['document_url', 'file'],
  ['input_audio', 'audio'],
])

function contentOf({ content }: Message): readonly ContentPart[] {
  return typeof content === 'string' ? [] : (content ?? [])
}

function toText(text: string): ContentPart {
  return { type: 'text', text }
}

function isPlainText({ type, cache_control }: ContentPart): boolean {
  return type === 'text' && cache_control === undefined
}

function checkUserImages(messages: readonly Message[], model: string): void {
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'user') continue
    const part = contentOf(message).findIndex(({ type }) => type === IMAGE)
    if (part === -1) continue
    const why = `cannot be sent: ${model} does not read images. Remove the image, or use another model.`
    throw unsupportedParameterError(`messages[${index}].content[${part}]`, why)
  }
}
