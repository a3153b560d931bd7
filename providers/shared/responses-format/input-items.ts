import {
  type ContentPart,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Message,
  type ReasoningData,
  type ToolCall,
  type Warning,
} from '../../../core/contract/index.ts'
import { withReasoningData } from '../../../core/dialects/carried-reasoning.ts'
import { toArgumentsText } from '../../../core/dialects/check-request.ts'
import { toReplyImages } from '../../../core/dialects/reply-parts.ts'
import { TOOL_SEARCH, toCustomArguments, toFunctionName, toSearchResult } from './client-tools.ts'
import { toReasoningData } from './output-items.ts'
import type { InputItem } from './request-schema.ts'

/** Clients treat the field as opaque. The summary is encoded in it, not encrypted: the client may read it. */
const COMPACTION_PREFIX = 'signalbox1.'

export function encodeSummary(summary: string): string {
  return COMPACTION_PREFIX + Buffer.from(summary, 'utf8').toString('base64url')
}

/** The message of a compaction in the input. Throws 400 for one of another service. */
function parseCompaction(content: unknown, path: string): Message {
  if (typeof content !== 'string' || !content.startsWith(COMPACTION_PREFIX)) {
    const message = `${path} was made by another service, and only that can read it. Send the conversation.`
    throw new GatewayError('invalid_value', message, { param: path })
  }
  const summary = Buffer.from(content.slice(COMPACTION_PREFIX.length), 'base64url').toString('utf8')
  return { role: 'user', content: `Summary of the conversation so far:\n${summary}` }
}

// Items of a session that began elsewhere: calls of hosted tools, and of tools that only OpenAI's models
// know. See docs/guides/responses.md, "Sessions that began elsewhere".

/** Whether an item is what the model or what the client said, and the fields that models get of it. */
interface ForeignItem {
  readonly author: 'assistant' | 'user'
  readonly fields: readonly string[]
}

const call = (...fields: readonly string[]): ForeignItem => ({ author: 'assistant', fields })
const result = (...fields: readonly string[]): ForeignItem => ({ author: 'user', fields })

const FOREIGN_ITEMS: ReadonlyMap<string, ForeignItem> = new Map([
  ['web_search_call', call('action')],
  ['file_search_call', call('queries', 'results')],
  ['code_interpreter_call', call('code', 'outputs')],
  ['image_generation_call', call('revised_prompt')],
  ['mcp_call', call('server_label', 'name', 'arguments', 'output', 'error')],
  ['mcp_approval_request', call('server_label', 'name', 'arguments')],
  ['mcp_approval_response', result('approve', 'reason')],
  ['local_shell_call', call('action')],
  ['local_shell_call_output', result('output')],
  ['shell_call', call('action')],
  ['shell_call_output', result('output')],
  ['apply_patch_call', call('operation')],
  ['apply_patch_call_output', result('status', 'output')],
  ['computer_call', call('action', 'actions')],
  ['computer_call_output', result('output')],
])

/** Items that are converted, or refused if they are not found. */
const KNOWN_ITEMS: ReadonlySet<string> = new Set([
  ...['message', 'reasoning', 'function_call', 'function_call_output', 'item_reference', 'compaction'],
  ...['custom_tool_call', 'custom_tool_call_output', 'tool_search_call', 'tool_search_output'],
])

/** Ids of items that hold nothing, or nothing that another model could read. */
const OPTIONAL_REFERENCE = /^(?:rs|ws|fs|ci|ig|mcp|mcpl|mcpr|lsh|sh|cu|ts|tsc)_/

/** What models get in place of an item. Undefined: the item is left out. */
interface ItemText {
  readonly author: ForeignItem['author']
  readonly text: string
}

/**
 * Returns true for an item that is history of another service: models get its text, or it is left out. A
 * search for tools that OpenAI ran has no `call_id`.
 */
function isForeignItem(item: InputItem): boolean {
  const { type = 'message', id, call_id, execution, encrypted_content } = item
  switch (type) {
    case 'tool_search_call':
    case 'tool_search_output':
      return call_id == null && execution !== 'client'
    case 'compaction':
      return encrypted_content !== '' && !String(encrypted_content).startsWith(COMPACTION_PREFIX)
    case 'item_reference':
      return typeof id === 'string' && OPTIONAL_REFERENCE.test(id)
    default:
      return !KNOWN_ITEMS.has(type)
  }
}

function toItemText(item: InputItem): ItemText | undefined {
  const { type = '' } = item
  if (type === 'compaction') return { author: 'user', text: LOST_SUMMARY }
  const foreign = FOREIGN_ITEMS.get(type)
  if (foreign === undefined) return undefined
  const given = foreign.fields.filter((name) => item[name] != null)
  if (given.length === 0) return undefined
  const fields = Object.fromEntries(given.map((name) => [name, item[name]]))
  return { author: foreign.author, text: `[${type}] ${JSON.stringify(fields, withoutMedia)}` }
}

const LOST_SUMMARY =
  '[An earlier part of the conversation was summarized by another service, and only that can read it.]'

function withoutMedia(_name: string, value: unknown): unknown {
  return typeof value === 'string' && /^data:[\w.+-]+\/[\w.+-]+;base64,/.test(value) ? '[left out]' : value
}

/** Returns a warning for each type of item that is left out, or of which something is lost. */
export function findItemWarnings({ input }: JsonObject): readonly Warning[] {
  if (!Array.isArray(input)) return []
  const types = input
    .filter(isJsonObject)
    .filter(isLost)
    .map(({ type }) => String(type))
  return [...new Set(types)].map((type) => ({
    code: 'parameter',
    message: `input items of the type ${type} were left out because the model cannot read or use them.`,
  }))
}

function isLost(item: InputItem): boolean {
  if (item.type === undefined || !isForeignItem(item)) return false
  if (item.type === 'image_generation_call') return !isImageItem(item)
  return item.type === 'compaction' || toItemText(item) === undefined
}

/** Whether an item holds an image, which is sent as one. */
function isImageItem({ type, result }: InputItem): boolean {
  return type === 'image_generation_call' && typeof result === 'string' && result !== ''
}

/** One turn of the assistant. Its reasoning, text and function calls are separate items but one message. */
interface AssistantTurn {
  reasoning: string
  /** What belongs to the reasoning, with the number of calls that precede it. */
  data: { readonly callIndex: number; readonly data: readonly ReasoningData[] }[]
  content: string | readonly ContentPart[] | undefined
  calls: ToolCall[]
}

/**
 * Converts input or output items to canonical messages. `param` is the name of the list in error messages.
 * `messageIndexes` receives for each item the index of its message. Throws 400 with the path of an item or
 * part that is not supported.
 */
export function parseItems(
  items: readonly InputItem[],
  param: string,
  messageIndexes?: number[],
): readonly Message[] {
  const messages: Message[] = []
  let turn: AssistantTurn | undefined
  /** Texts that must not come between calls and their results. */
  let late: Message[] = []

  const endTurn = (isResult = false) => {
    if (turn) messages.push(toAssistantMessage(turn))
    turn = undefined
    if (isResult) return
    messages.push(...late)
    late = []
  }
  /** Returns the current turn, or a new one if the item cannot belong to the current turn. */
  const continueTurn = (isOver: (turn: AssistantTurn) => boolean): AssistantTurn => {
    const isAnswered = late.length > 0 && !turn?.calls.length
    if (isAnswered || (turn && isOver(turn))) endTurn()
    turn ??= { reasoning: '', data: [], content: undefined, calls: [] }
    return turn
  }

  const addText = ({ author, text }: ItemText) => {
    if (author === 'user') late.push({ role: 'user', content: text })
    else
      appendText(
        continueTurn(() => false),
        text,
      )
  }

  for (const [index, item] of items.entries()) {
    const path = `${param}[${index}]`
    if (isForeignItem(item)) {
      const text = toItemText(item)
      if (text !== undefined) addText(text)
      if (isImageItem(item)) late.push(toReplyImages([`data:${toMediaType(item)};base64,${item.result}`]))
      messageIndexes?.push(messages.length)
      continue
    }
    switch (item.type ?? 'message') {
      case 'message': {
        const content = toChatContent(item.content, path)
        if (item.role === 'assistant') {
          continueTurn(hasContentOrCalls).content = content
        } else {
          endTurn()
          messages.push({ role: toRole(item.role), content })
        }
        break
      }
      case 'reasoning': {
        const data = toReasoningData(item)
        // The signature of a parallel call is within the turn.
        const isOfCall = data.length > 0 && data.every(({ google }) => google !== undefined)
        const current = continueTurn((open) => !isOfCall && hasContentOrCalls(open))
        current.reasoning += reasoningText(item)
        current.data.push({ callIndex: current.calls.length, data })
        break
      }
      case 'function_call':
      case 'custom_tool_call':
      case 'tool_search_call':
        continueTurn(() => false).calls.push(toToolCall(item))
        break
      case 'function_call_output':
      case 'custom_tool_call_output':
        endTurn(true)
        messages.push({
          role: 'tool',
          tool_call_id: String(item.call_id),
          content: toChatContent(item.output, path),
        })
        break
      case 'tool_search_output':
        endTurn(true)
        messages.push({
          role: 'tool',
          tool_call_id: String(item.call_id),
          content: toSearchResult(item, path),
        })
        break
      case 'compaction':
        endTurn()
        messages.push(parseCompaction(item.encrypted_content, `${path}.encrypted_content`))
        break
      default:
        throw unsupportedItemError(item, path)
    }
    // The message of an open turn is added when the turn ends.
    messageIndexes?.push(turn ? messages.length : messages.length - 1)
  }
  endTurn()
  return messages
}

function appendText(turn: AssistantTurn, text: string): void {
  const { content } = turn
  if (Array.isArray(content)) turn.content = [...content, { type: 'text', text }]
  else turn.content = content ? `${content}\n${text}` : text
}

function toMediaType({ output_format: format }: InputItem): string {
  return format === 'jpeg' || format === 'webp' || format === 'gif' ? `image/${format}` : 'image/png'
}

function hasContentOrCalls({ content, calls }: AssistantTurn): boolean {
  return content !== undefined || calls.length > 0
}

function toAssistantMessage({ reasoning, data, content, calls }: AssistantTurn): Message {
  const message: Message = {
    role: 'assistant',
    content: joinTextParts(content) ?? null,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  return data.reduce((built, each) => withReasoningData(built, each.data, each.callIndex), message)
}

/** Joins text parts, because every provider accepts plain text from an assistant but not every part type. */
function joinTextParts(content: AssistantTurn['content']): AssistantTurn['content'] {
  if (!Array.isArray(content) || content.some(({ type }) => type !== 'text')) return content
  return content.map(({ text }) => text).join('')
}

function toRole(role: unknown): Message['role'] {
  return role === 'system' || role === 'developer' ? role : 'user'
}

function toToolCall({ call_id, extra_content, ...item }: InputItem): ToolCall {
  return {
    id: String(call_id),
    type: 'function',
    function: toCalledFunction(item),
    ...(isJsonObject(extra_content) && { extra_content }),
  }
}

function toCalledFunction({
  type,
  name,
  namespace,
  input,
  arguments: json,
}: InputItem): ToolCall['function'] {
  const functionName = toFunctionName(String(name), namespace)
  switch (type) {
    case 'custom_tool_call':
      return { name: functionName, arguments: toCustomArguments(input) }
    case 'tool_search_call':
      return { name: TOOL_SEARCH, arguments: typeof json === 'string' ? json : JSON.stringify(json) }
    default:
      return { name: functionName, arguments: toArgumentsText(json) }
  }
}

function reasoningText({ summary, content }: InputItem): string {
  return concatTexts(content) || concatTexts(summary)
}

/** Concatenates the texts of a list of parts; empty if it is not a list. */
function concatTexts(parts: unknown): string {
  if (!Array.isArray(parts)) return ''
  return parts
    .filter(isJsonObject)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('')
}

function unsupportedItemError({ type, id }: InputItem, path: string): GatewayError {
  if (type !== 'item_reference') return unsupportedTypeError(type, path)
  const message = `${path} references item ${id}, which was not found or has expired.`
  return new GatewayError('invalid_value', message, { param: path, quoted: String(id) })
}

function unsupportedTypeError(type: unknown, path: string): GatewayError {
  const message = `${path} has type "${type}", which is not supported.`
  return new GatewayError('invalid_value', message, { param: path, quoted: String(type) })
}

/** Converts the content of the item at `path` to the chat-completions format. */
function toChatContent(content: unknown, path: string): string | readonly ContentPart[] {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : ''
  return content.filter(isJsonObject).map((part, index) => toChatPart(part, `${path}.content[${index}]`))
}

function toChatPart(part: JsonObject, path: string): ContentPart {
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: String(part.text) }
    case 'refusal':
      return { type: 'refusal', refusal: part.refusal }
    case 'input_image':
      return { type: 'image_url', image_url: toChatImage(part, path) }
    case 'input_file':
      return { type: 'file', file: toChatFile(part, path) }
    case 'input_audio':
      return { type: 'input_audio', input_audio: toChatAudio(part, path) }
    default:
      throw unsupportedTypeError(part.type, path)
  }
}

function toChatImage({ image_url, detail }: JsonObject, path: string): JsonObject {
  if (typeof image_url !== 'string') throw missingFieldError(path, 'image_url with a URL or data URL')
  return { url: image_url, ...(detail != null && { detail }) }
}

function toChatAudio({ input_audio }: JsonObject, path: string): JsonObject {
  if (isJsonObject(input_audio) && typeof input_audio.data === 'string') return input_audio
  throw missingFieldError(path, 'input_audio with data and format')
}

function toChatFile({ file_id, file_data, file_url, filename }: JsonObject, path: string): JsonObject {
  if (file_id == null && file_data == null && file_url == null)
    throw missingFieldError(path, 'file_data, file_url or file_id')
  return {
    ...(file_id != null && { file_id }),
    ...(file_data != null && { file_data }),
    ...(file_url != null && { file_url }),
    ...(filename != null && { filename }),
  }
}

function missingFieldError(path: string, field: string): GatewayError {
  return new GatewayError('unsupported_parameter', `${path} requires ${field}.`, { param: path })
}

export type TextPartType = 'input_text' | 'output_text'

/** Converts the content of a message to parts of an item. */
export function toItemContent(content: Message['content'], textType: TextPartType): readonly JsonObject[] {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
  return parts.map((part) => toItemPart(part, textType))
}

function toItemPart(part: ContentPart, textType: TextPartType): JsonObject {
  switch (part.type) {
    case 'text':
      return textType === 'output_text'
        ? { type: textType, text: part.text, annotations: [], logprobs: [] }
        : { type: textType, text: part.text }
    case 'image_url':
      return { type: 'input_image', ...toImageFields(part) }
    case 'file':
      return { type: 'input_file', ...withoutNulls(Object(part.file)) }
    default:
      return part
  }
}

/** The values of `detail` that OpenAI's description has; strict clients read no others. */
export const IMAGE_DETAILS = ['auto', 'low', 'high', 'original'] as const

function toImageFields({ image_url }: ContentPart): JsonObject {
  const { url, detail } = Object(image_url)
  return { image_url: url, detail: IMAGE_DETAILS.find((known) => known === detail) ?? 'auto' }
}

function withoutNulls(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}
