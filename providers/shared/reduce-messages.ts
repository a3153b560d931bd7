import type { ContentPart, Message } from '../../core/contract/chat.ts'
import { parseDataUrl } from '../../core/text/data-url.ts'
import { asObject, asString } from './fields.ts'

type Messages = readonly Message[]

/** What messages of texts and images are reduced to. Whether a model reads images is in the catalogue. */
export const ORDINARY_MESSAGES: Messages = [{ role: 'user', content: 'JSON' }]

const BLANK_MESSAGES: Messages = [{ role: 'user', content: '' }]

/** Parts that every provider gets, in some form. */
const ORDINARY_PARTS: ReadonlySet<string> = new Set(['text', 'image_url', 'refusal', 'extra_content'])

/** Reduces messages to what decides which providers accept them: the kinds of their parts. */
export function reduceMessages(messages: Messages): Messages {
  let kinds: Map<string, ContentPart> | undefined
  let isBlank = true
  for (const { content, tool_calls } of messages) {
    if (tool_calls != null && tool_calls.length > 0) isBlank = false
    if (typeof content === 'string') {
      if (isBlank && content.trim() !== '') isBlank = false
      continue
    }
    for (const part of content ?? []) {
      if (part.type !== 'text' || asString(part.text).trim() !== '') isBlank = false
      if (ORDINARY_PARTS.has(part.type)) continue
      const reduced = reducePart(part)
      kinds ??= new Map()
      kinds.set(JSON.stringify(reduced), reduced)
    }
  }
  if (kinds !== undefined) return [{ role: 'user', content: [...kinds.values()] }]
  return isBlank ? BLANK_MESSAGES : ORDINARY_MESSAGES
}

const SAMPLE_DATA = 'AAAA'

/** A part of the same kind, with other data. */
function reducePart({ type, input_audio, file }: ContentPart): ContentPart {
  switch (type) {
    case 'input_audio':
      return { type, input_audio: { data: SAMPLE_DATA, format: asString(asObject(input_audio).format) } }
    case 'file':
      return { type, file: reduceFile(asString(asObject(file).file_data)) }
    default:
      return { type }
  }
}

function reduceFile(data: string): object {
  if (data === '') return { file_id: 'file' }
  const mediaType = parseDataUrl(data)?.mediaType
  if (mediaType === undefined)
    return { filename: 'f.pdf', file_data: data.includes(':') ? 'https://x/' : SAMPLE_DATA }
  return { filename: 'f.pdf', file_data: `data:${mediaType};base64,${SAMPLE_DATA}` }
}
