import type { ChatRequest, ContentPart, Message, ToolCall } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject } from '../../core/contract/json.ts'
import { asObject, asString, type DataUrl, parseDataUrl, parseObject } from '../shared/fields.ts'

import type {
  Block,
  CacheControl,
  DocumentBlock,
  ImageBlock,
  ImageType,
  MessagesBody,
  TextBlock,
  ToolResultBlock,
  ToolUseBlock,
  Turn,
} from './wire.ts'

/** Stands in for `json_object`, which Anthropic does not have. */
const JSON_INSTRUCTION =
  'Answer with a single JSON object and nothing else: no words before or after it, and no code fence.'

/**
 * The conversation in turns: messages of one side in a row become one turn, so that all results of an assistant's tool
 * calls come together, before the user's text (docs/providers.md, "Anthropic requests"). Throws a `GatewayError` for what cannot be said.
 */
function writeMessages(messages: readonly Message[]): readonly Turn[] {
  const turns: { role: Turn['role']; content: Block[] }[] = []
  for (const [index, message] of messages.entries()) {
    if (isSystem(message.role)) continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const blocks = writeBlocks(message, `messages[${index}]`)
    const last = turns.at(-1)
    if (blocks.length === 0) continue
    if (last?.role === role) last.content.push(...blocks)
    else turns.push({ role, content: blocks })
  }
  return trimEnd(turns.map(orderTurn))
}

function writeBlocks(message: Message, path: string): Block[] {
  switch (message.role) {
    case 'assistant':
      return writeAssistant(message, path)
    case 'tool':
      return [writeResult(message, path)]
    case 'function':
      throw new GatewayError('unsupported_parameter', `${path}: use the role tool in place of function.`, {
        param: `${path}.role`,
      })
    default:
      return writeContent(message.content, `${path}.content`)
  }
}

function writeAssistant(message: Message, path: string): Block[] {
  const text = writeText(message.content ?? asString(message.refusal), `${path}.content`)
  const calls = message.tool_calls ?? []
  return [...text, ...calls.map((call, index) => writeCall(call, `${path}.tool_calls[${index}]`))]
}

function writeCall({ id, function: { name, arguments: json } }: ToolCall, path: string): ToolUseBlock {
  const input = parseObject(json.trim() || '{}')
  if (input) return { type: 'tool_use', id: cleanId(id), name, input }
  const param = `${path}.function.arguments`
  throw new GatewayError('invalid_value', `${param} must be a JSON object.`, { param })
}

function writeResult({ tool_call_id, content }: Message, path: string): ToolResultBlock {
  const id = asString(tool_call_id)
  const param = `${path}.tool_call_id`
  if (id === '') throw new GatewayError('missing_parameter', `${param} is missing.`, { param })
  return {
    type: 'tool_result',
    tool_use_id: cleanId(id),
    content: typeof content === 'string' ? content : writeContent(content, `${path}.content`),
  }
}

/** Other providers have ids with characters that Anthropic refuses. */
function cleanId(id: string): string {
  return id.replace(/[^\w-]/g, '_')
}

/** Tool results go before anything else that the user says in the same turn. */
function orderTurn({ role, content }: Turn): Turn {
  const isResult = ({ type }: Block) => type === 'tool_result'
  return { role, content: [...content.filter(isResult), ...content.filter((block) => !isResult(block))] }
}

/** The model goes on from an answer that the client began, unless that ends in white space (docs/providers.md, "Anthropic requests"). */
function trimEnd(turns: readonly Turn[]): readonly Turn[] {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (last?.role !== 'assistant' || block?.type !== 'text') return turns
  const trimmed = { ...block, text: block.text.trimEnd() }
  return [...turns.slice(0, -1), { role: last.role, content: [...last.content.slice(0, -1), trimmed] }]
}

/** What the model gets to read. A request of system messages only is sent as the user's, for there must be one. */
export function writePrompt({
  messages,
  response_format,
}: ChatRequest): Pick<MessagesBody, 'system' | 'messages'> {
  const instruction = response_format?.type === 'json_object' ? JSON_INSTRUCTION : undefined
  const system = writeSystem(messages, instruction)
  const turns = writeMessages(messages)
  if (turns.length > 0 || system === undefined) return { system, messages: turns }
  const content = typeof system === 'string' ? [{ type: 'text' as const, text: system }] : system
  return { messages: [{ role: 'user', content }] }
}

/** The texts of all system and developer messages, as one text where no part of them carries a cache mark. */
function writeSystem(
  messages: readonly Message[],
  instruction: string | undefined,
): string | readonly TextBlock[] | undefined {
  const blocks = messages.flatMap(({ role, content }, index) =>
    isSystem(role) ? writeText(content, `messages[${index}].content`) : [],
  )
  if (instruction) blocks.push({ type: 'text', text: instruction })
  if (blocks.length === 0) return undefined
  if (blocks.some(({ cache_control }) => cache_control)) return blocks
  return blocks.map(({ text }) => text).join('\n\n')
}

function isSystem(role: Message['role']): boolean {
  return role === 'system' || role === 'developer'
}

type Content = Message['content']

/**
 * What a user or a tool says. `path` is where it stands in the request, such as `messages[2].content`, for the error
 * about a part that Anthropic cannot take. Blank texts are left out: it refuses them.
 */
function writeContent(content: Content, path: string): (TextBlock | ImageBlock | DocumentBlock)[] {
  return readParts(content).flatMap((part, index) => writePart(part, `${path}[${index}]`))
}

/** What the system or the assistant says: text only. */
function writeText(content: Content, path: string): TextBlock[] {
  return readParts(content).flatMap((part, index) => {
    if (part.type === 'text' || part.type === 'refusal') return writeTextPart(part)
    throw refusePart(part, `${path}[${index}]`)
  })
}

function readParts(content: Content): readonly ContentPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
}

function writePart(part: ContentPart, path: string): readonly (TextBlock | ImageBlock | DocumentBlock)[] {
  const cache_control = readCacheControl(part.cache_control)
  switch (part.type) {
    case 'text':
      return writeTextPart(part)
    case 'image_url':
      return [{ ...writeImage(part, path), cache_control }]
    case 'file':
      return [{ ...writeDocument(part, path), cache_control }]
    default:
      throw refusePart(part, path)
  }
}

function writeTextPart(part: ContentPart): readonly TextBlock[] {
  const text = part.type === 'refusal' ? asString(part.refusal) : asString(part.text)
  if (text.trim() === '') return []
  return [{ type: 'text', text, cache_control: readCacheControl(part.cache_control) }]
}

function refusePart({ type }: ContentPart, path: string): GatewayError {
  return new GatewayError('unsupported_parameter', `${path}: anthropic takes no ${type} part here.`, {
    param: path,
  })
}

/** A `file` part with a PDF or a text in a data URL. Throws a `GatewayError` for any other file. */
function writeDocument(part: ContentPart, path: string): DocumentBlock {
  const { file_data, filename } = asObject(part.file)
  const param = `${path}.file.file_data`
  const file = parseDataUrl(asString(file_data))
  if (!file) {
    throw new GatewayError('unsupported_parameter', `${param} must hold the file as a data URL.`, { param })
  }
  return {
    type: 'document',
    title: asString(filename) || undefined,
    source: writeSource(file, param),
  }
}

function writeSource({ mediaType, base64 }: DataUrl, param: string): DocumentBlock['source'] {
  if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data: base64 }
  if (mediaType.startsWith('text/')) {
    const data = Buffer.from(base64, 'base64').toString()
    return { type: 'text', media_type: 'text/plain', data }
  }
  throw new GatewayError('invalid_value', `${param}: anthropic reads PDF and text files only.`, { param })
}

/** An `image_url` part; `detail` has no counterpart. Throws a `GatewayError` for an image that Anthropic cannot read. */
function writeImage(part: ContentPart, path: string): ImageBlock {
  const param = `${path}.image_url.url`
  const url = asString(part.image_url) || asString(asObject(part.image_url).url)
  if (/^https?:/i.test(url)) return { type: 'image', source: { type: 'url', url } }
  const image = parseDataUrl(url)
  if (!image) throw refuse(`${param} must be an http, https or data URL.`, param)
  const media_type = TYPES.get(image.mediaType)
  if (!media_type) throw refuse(`${param}: anthropic reads JPEG, PNG, GIF and WebP images only.`, param)
  return { type: 'image', source: { type: 'base64', media_type, data: image.base64 } }
}

const TYPES = new Map<string, ImageType>([
  ['image/jpeg', 'image/jpeg'],
  ['image/jpg', 'image/jpeg'],
  ['image/png', 'image/png'],
  ['image/gif', 'image/gif'],
  ['image/webp', 'image/webp'],
])

function refuse(message: string, param: string): GatewayError {
  return new GatewayError('invalid_value', message, { param })
}

/** A cache mark as Anthropic's clients write it on a part, a tool or the request; undefined for anything else. */
export function readCacheControl(value: unknown): CacheControl | undefined {
  if (!isJsonObject(value) || value.type !== 'ephemeral') return undefined
  const { ttl } = value
  return ttl === '5m' || ttl === '1h' ? { type: 'ephemeral', ttl } : { type: 'ephemeral' }
}
