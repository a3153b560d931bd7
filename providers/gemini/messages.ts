import type { ContentPart, Message } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { imageTypeOf, parseDataUrl } from '../../core/inspection/data-url.ts'
import { asObject, asString } from '../shared/fields.ts'
import { parseFilePart, unsupportedFileError } from '../shared/files.ts'
import { isInstruction, markLaterInstructions } from '../shared/instructions.ts'
import {
  invalidValueError,
  unsupportedParameterError,
  unsupportedPartError,
} from '../shared/request-errors.ts'
import { createToolCallConverter } from './tools.ts'
import type { GeminiBody, GeminiContent, GeminiFamily, GeminiPart, MediaPart, TextPart } from './wire.ts'

/**
 * The conversation as contents of `user` and `model`, with a separate system instruction
 * (docs/providers.md, "Gemini"). The system messages become the user's first text for Gemma, which
 * has no system instruction, and if there are no other messages. Throws a `GatewayError` for content that
 * Gemini does not support.
 */
export function toGeminiMessages(
  messages: readonly Message[],
  family: GeminiFamily,
): Pick<GeminiBody, 'contents' | 'systemInstruction'> {
  const marked = markLaterInstructions(messages)
  const system = toSystemParts(marked)
  const parts = toPositionedParts(marked, family)
  if (system.length === 0 && parts.length === 0)
    throw invalidValueError('messages', 'must hold a text that is not empty, for gemini.')
  if (system.length === 0) return { contents: mergeParts(parts) }
  if (family !== 'gemma' && parts.length > 0) {
    return { systemInstruction: { parts: system }, contents: mergeParts(parts) }
  }
  const prompt = parts.length > 0 ? withBlankLine(system) : system
  const first = prompt.map((part): PositionedPart => ({ role: 'user', part, position: 0 }))
  return { contents: mergeParts([...first, ...parts]) }
}

/** Divides the system messages from the text of the user that follows, as Gemma's own template does. */
function withBlankLine(system: readonly TextPart[]): readonly TextPart[] {
  return system.map((part, index) =>
    index === system.length - 1 ? { ...part, text: `${part.text}\n\n` } : part,
  )
}

function toSystemParts(messages: readonly Message[]): readonly TextPart[] {
  return messages.flatMap((message, index) =>
    isInstruction(message) ? toTextParts(message.content, `messages[${index}].content`) : [],
  )
}

/** A part with its role. The parts of one content are sorted by `position` (a stable sort). */
interface PositionedPart {
  readonly role: GeminiContent['role']
  readonly part: GeminiPart
  readonly position: number
}

/** The position of parts that are not tool results. */
const AFTER_TOOL_RESULTS = Number.MAX_SAFE_INTEGER

/** Merges neighbours of the same role: Gemini requires all tool results of a turn in one content. */
function mergeParts(parts: readonly PositionedPart[]): readonly GeminiContent[] {
  const contents: { readonly role: GeminiContent['role']; readonly parts: PositionedPart[] }[] = []
  for (const part of parts) {
    const last = contents.at(-1)
    if (last?.role === part.role) last.parts.push(part)
    else contents.push({ role: part.role, parts: [part] })
  }
  return contents.map((content) => ({
    role: content.role,
    parts: content.parts.toSorted((a, b) => a.position - b.position).map(({ part }) => part),
  }))
}

function toPositionedParts(messages: readonly Message[], family: GeminiFamily): readonly PositionedPart[] {
  const { toFunctionCallParts, toToolResult } = createToolCallConverter(family)

  return messages.flatMap((message, index): readonly PositionedPart[] => {
    const path = `messages[${index}]`
    const { role, content } = message
    switch (role) {
      case 'system':
      case 'developer':
        return []
      case 'user':
        return toParts(content, `${path}.content`).map((part) => afterToolResults('user', part))
      case 'assistant': {
        const parts = [...toParts(content, `${path}.content`), ...toFunctionCallParts(message, path)]
        return parts.map((part) => afterToolResults('model', part))
      }
      case 'tool': {
        const texts = toTextParts(content, `${path}.content`).map(({ text }) => text)
        return [{ role: 'user', ...toToolResult(message, texts.join('\n'), path) }]
      }
      default:
        role satisfies never
        return []
    }
  })
}

function afterToolResults(role: GeminiContent['role'], part: GeminiPart): PositionedPart {
  return { role, part, position: AFTER_TOOL_RESULTS }
}

type Content = Message['content']

/**
 * The parts of a message without empty texts. `path` is the location in the request for error messages, such
 * as `messages[2].content`.
 */
function toParts(content: Content, path: string): readonly (TextPart | MediaPart)[] {
  if (typeof content === 'string') return toTextPart(content)
  return (content ?? []).flatMap((part, index) => toPart(part, `${path}[${index}]`))
}

/** The same for messages that may hold text only. */
function toTextParts(content: Content, path: string): readonly TextPart[] {
  return toParts(content, path).map((part) => {
    if ('text' in part) return part
    throw unsupportedParameterError(path, 'must hold only text for gemini.')
  })
}

/** Throws a `GatewayError` for a part that Gemini does not support. */
export function toPart(part: ContentPart, path: string): readonly (TextPart | MediaPart)[] {
  switch (part.type) {
    case 'text':
      return toTextPart(asString(part.text))
    case 'refusal':
      return toTextPart(asString(part.refusal))
    case 'image_url':
      return [toImagePart(part.image_url, path)]
    case 'input_audio':
      return [toAudioPart(asObject(part.input_audio), path)]
    case 'file':
      return [toFilePart(part, path)]
    default:
      throw unsupportedPartError('gemini', path, part.type)
  }
}

/** One part, or none for an empty text. */
function toTextPart(text: string): readonly TextPart[] {
  return text === '' ? [] : [{ text }]
}

/** `image` is `{url}`, or the URL itself, as some clients send it. */
function toImagePart(image: unknown, path: string): MediaPart {
  return toUrlPart(asString(asObject(image).url ?? image), `${path}.image_url`)
}

/** `audio` is `{data, format}`, with the data in base64. */
function toAudioPart(audio: JsonObject, path: string): MediaPart {
  const data = asString(audio.data)
  const format = asString(audio.format)
  if (data === '' || format === '')
    throw invalidValueError(`${path}.input_audio`, 'must have data and format.')
  return toInlinePart(`audio/${format}`, data)
}

/** A `file_id` refers to a file at OpenAI. */
function toFilePart(part: ContentPart, path: string): MediaPart {
  const file = parseFilePart(part, path)
  if (file.type === 'id') throw unsupportedFileError('gemini', path, file)
  return file.type === 'url' ? toUrlPart(file.url, `${path}.file`) : toInlinePart(file.mediaType, file.base64)
}

function toUrlPart(url: string, path: string): MediaPart {
  const data = parseDataUrl(url)
  if (data?.mediaType) return toInlinePart(data.mediaType, data.base64)
  if (!/^https?:\/\//i.test(url)) {
    throw invalidValueError(path, 'must be an http or https URL, or a data URL with a media type.')
  }
  const mimeType = guessMediaType(url)
  return { fileData: { fileUri: url, ...(mimeType && { mimeType }) } }
}

/** Of images, the data decides about the type. */
function toInlinePart(mimeType: string, data: string): MediaPart {
  return { inlineData: { mimeType: imageTypeOf(data) ?? mimeType, data } }
}

const MEDIA_TYPES = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
  ['pdf', 'application/pdf'],
])

/** By the file extension in the URL; undefined if there is no known one. */
function guessMediaType(url: string): string | undefined {
  const [path = ''] = url.split(/[?#]/, 1)
  return MEDIA_TYPES.get(path.slice(path.lastIndexOf('.') + 1).toLowerCase())
}
