import type { ContentPart, Message } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { Target } from '../../core/contract/provider.ts'
import { imageTypeOf, parseDataUrl } from '../../core/inspection/data-url.ts'
import { asObject, asString } from './fields.ts'
import { unsupportedParameterError } from './request-errors.ts'

/** What messages to a provider may hold besides texts. Images and files are in messages of the user. */
export interface MediaPlaces {
  /** The types of parts that the result of a tool may hold. */
  readonly results: ReadonlySet<string>
  /** Throws a `GatewayError` for a part that the user cannot send. `path` is its location. */
  check(part: ContentPart, path: string): void
  /** The types of parts that are sent behind results and replies, if not all that the user can send. */
  readonly moved?: ReadonlySet<string>
  /** The media types of images, if the provider refuses others. */
  readonly imageTypes?: ReadonlySet<string>
}

/** For formats whose tool results are texts only. */
export const TEXT_RESULTS: ReadonlySet<string> = new Set()

/** The media types of images that OpenAI, Anthropic and Mistral read. */
export const WEB_IMAGES: ReadonlySet<string> = new Set([
  ...['image/jpeg', 'image/jpg', 'image/png', 'image/gif', 'image/webp'],
])

interface PlacedMessages {
  readonly messages: readonly Message[]
  /** Media that was left out, such as `images in tool results`. */
  readonly omitted: readonly string[]
}

/** Parts that every provider gets in some form. */
const TEXTS: ReadonlySet<string> = new Set(['text', 'refusal', 'extra_content'])

const IMAGE = 'image_url'

const NAMES: ReadonlyMap<string, string> = new Map([
  [IMAGE, 'image'],
  ['file', 'file'],
  ['document_url', 'file'],
  ['input_audio', 'audio'],
  ['video_url', 'video'],
])

/**
 * Places the media of tool results, earlier replies and instructions where the provider accepts them: in the
 * result, or else in a message of the user behind it. What it accepts nowhere is left out with a text: it
 * would fail every later turn of the conversation. Throws a `GatewayError` for media of the user that the
 * provider does not accept.
 */
export function placeMedia(
  messages: readonly Message[],
  places: MediaPlaces,
  target: Target,
): PlacedMessages {
  const readsImages = target.entry?.capabilities.images !== false
  checkUserMedia(messages, places, readsImages ? undefined : target.model)
  const isPlaced = ({ role, content }: Message) =>
    role === 'user' || !Array.isArray(content) || content.every((part) => mayStay(role, part))
  if (messages.every(isPlaced)) return { messages, omitted: [] }

  const placed: Message[] = []
  const omitted = new Set<string>()
  let moved: ContentPart[] = []
  let resultCount = 0
  let hasTurn = false

  function mayStay(role: Message['role'], part: ContentPart): boolean {
    if (TEXTS.has(part.type)) return true
    if (role === 'tool') return places.results.has(part.type) && isAccepted(part)
    return !NAMES.has(part.type)
  }

  function isAccepted(part: ContentPart): boolean {
    if (places.moved?.has(part.type) === false) return false
    if (part.type === IMAGE && !(readsImages && hasType(part, places.imageTypes))) return false
    try {
      places.check(part, '')
      return true
    } catch (error) {
      if (GatewayError.isInstance(error)) return false
      throw error
    }
  }

  /** Returns the message without the media that follows it; undefined if nothing is left of it. */
  function takeMedia(message: Message): Message | undefined {
    const { role } = message
    const taken: ContentPart[] = []
    const content = contentOf(message).flatMap((part): readonly ContentPart[] => {
      if (mayStay(role, part)) return [part]
      const name = NAMES.get(part.type) ?? 'content'
      const isSent = isAccepted(part)
      if (!isSent) omitted.add(`${name} in ${PLACES[role] ?? 'messages'}`)
      const leftOut = toText(`[The ${name} was left out, because the model does not read it.]`)
      if (role !== 'tool') taken.push(isSent ? part : leftOut)
      else if (isSent) taken.push(part)
      if (role !== 'tool') return []
      return [isSent ? toText(`[The ${name} follows the results.]`) : leftOut]
    })
    if (taken.length > 0) moved.push(toText(toTitle(role, resultCount)), ...taken)
    if (content.length === 0 && message.tool_calls == null) return undefined
    const isText = role === 'tool' && content.every(isPlainText)
    return {
      ...message,
      content: isText ? content.map(({ text }) => text).join('\n') : content.length === 0 ? null : content,
    }
  }

  function placeMoved(): void {
    if (moved.length > 0) placed.push({ role: 'user', content: moved })
    moved = []
    resultCount = 0
  }

  for (const message of messages) {
    const { role } = message
    const isInstruction = role === 'system' || role === 'developer'
    if (role === 'tool') resultCount++
    else if (hasTurn || !isInstruction) placeMoved()
    if (!isInstruction) hasTurn = true
    const kept = isPlaced(message) ? message : takeMedia(message)
    if (kept !== undefined) placed.push(kept)
  }
  placeMoved()
  return { messages: placed, omitted: [...omitted] }
}

const PLACES: Readonly<Partial<Record<Message['role'], string>>> = {
  tool: 'tool results',
  assistant: 'earlier replies',
  system: 'instructions',
  developer: 'instructions',
}

function toTitle(role: Message['role'], resultCount: number): string {
  if (role === 'tool') return `From tool result ${resultCount}:`
  return role === 'assistant' ? 'From the earlier reply:' : 'From the instructions:'
}

function checkUserMedia(
  messages: readonly Message[],
  { check }: MediaPlaces,
  blindModel: string | undefined,
): void {
  for (const [index, { role, content }] of messages.entries()) {
    if (role !== 'user' || typeof content === 'string' || content == null) continue
    for (const [partIndex, part] of content.entries()) {
      if (TEXTS.has(part.type)) continue
      const path = `messages[${index}].content[${partIndex}]`
      if (part.type === IMAGE && blindModel !== undefined) throw blindModelError(path, blindModel)
      check(part, path)
    }
  }
}

function blindModelError(path: string, model: string): GatewayError {
  const why = `cannot be sent: ${model} does not read images. Remove the image, or use another model.`
  return unsupportedParameterError(path, why)
}

/** Images by URL may be of any type. */
function hasType({ image_url }: ContentPart, types: ReadonlySet<string> | undefined): boolean {
  if (types === undefined) return true
  const data = parseDataUrl(asString(image_url) || asString(asObject(image_url).url))
  return data === undefined || types.has(imageTypeOf(data.base64) ?? data.mediaType)
}

function contentOf({ content }: Message): readonly ContentPart[] {
  return typeof content === 'string' ? [] : (content ?? [])
}

function toText(text: string): ContentPart {
  return { type: 'text', text }
}

function isPlainText({ type, cache_control }: ContentPart): boolean {
  return type === 'text' && cache_control === undefined
}
