import type { ContentPart, Message } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { parseDataUrl } from '../../core/inspection/data-url.ts'
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
  let resultKinds: Map<string, ContentPart> | undefined
  let isBlank = true
  for (const { role, content, tool_calls } of messages) {
    if (tool_calls != null && tool_calls.length > 0) isBlank = false
    if (typeof content === 'string') {
      if (isBlank && content.trim() !== '') isBlank = false
      continue
    }
    for (const part of content ?? []) {
      if (part.type !== 'text' || asString(part.text).trim() !== '') isBlank = false
      if (ORDINARY_PARTS.has(part.type)) continue
      const reduced = reducePart(part)
      if (role === 'user') kinds ??= new Map()
      else resultKinds ??= new Map()
      const found = role === 'user' ? kinds : resultKinds
      found?.set(JSON.stringify(reduced), reduced)
    }
  }
  if (kinds !== undefined || resultKinds !== undefined)
    return [...toUserMessages(kinds), ...toResultMessages(resultKinds)]
  return isBlank ? BLANK_MESSAGES : ORDINARY_MESSAGES
}

type Kinds = ReadonlyMap<string, ContentPart> | undefined

function toUserMessages(kinds: Kinds): Messages {
  return kinds === undefined ? ORDINARY_MESSAGES : [{ role: 'user', content: [...kinds.values()] }]
}

/** What a provider does not read in results and replies is left out: it does not make a model unsuitable. */
function toResultMessages(kinds: Kinds): Messages {
  if (kinds === undefined) return []
  const call = { id: 'call', type: 'function', function: { name: 'f', arguments: '{}' } }
  return [
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: call.id, content: [...kinds.values()] },
  ]
}

const SAMPLE_DATA = 'AAAA'

/** A part of the same kind, with other data. */
function reducePart({ type, input_audio, file }: ContentPart): ContentPart {
  switch (type) {
    case 'input_audio':
      return { type, input_audio: { data: SAMPLE_DATA, format: asString(asObject(input_audio).format) } }
    case 'file':
      return { type, file: reduceFile(asObject(file)) }
    default:
      return { type }
  }
}

function reduceFile({ file_data, file_url }: JsonObject): JsonObject {
  const data = asString(file_data)
  if (file_url != null) return { filename: 'f.pdf', file_url: 'https://x/' }
  if (data === '') return { file_id: 'file' }
  const mediaType = parseDataUrl(data)?.mediaType
  if (mediaType === undefined)
    return { filename: 'f.pdf', file_data: data.includes(':') ? 'https://x/' : SAMPLE_DATA }
  return { filename: 'f.pdf', file_data: `data:${mediaType};base64,${SAMPLE_DATA}` }
}
