import {
  type ContentPart,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Message,
  type ReasoningData,
  type ToolCall,
} from '../../contract/index.ts'
import { toArgumentsText } from '../call-arguments.ts'
import { withReasoningData } from '../carried-reasoning.ts'
import { toReplyImages } from '../reply-images.ts'
import { TOOL_SEARCH, toCustomArguments, toFunctionName } from './client-tools.ts'
import { parseCompaction } from './compaction.ts'
import { type ItemText, isForeignItem, isImageItem, toItemText } from './foreign-items.ts'
import { toReasoningData } from './output-items.ts'
import type { InputItem } from './request-schema.ts'
import { toSearchResult } from './tool-search.ts'

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
