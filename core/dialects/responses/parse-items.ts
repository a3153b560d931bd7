import {
  type ContentPart,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Message,
  type ToolCall,
} from '../../contract/index.ts'
import type { InputItem } from './request-schema.ts'

/** An assistant's turn: what it thought, said and called come as items of their own and make one message. */
interface Turn {
  reasoning: string
  content: string | readonly ContentPart[] | undefined
  calls: ToolCall[]
}

/** Input or output items as canonical messages. `param` is what error messages call the list. */
export function parseItems(items: readonly InputItem[], param: string): readonly Message[] {
  const messages: Message[] = []
  let turn: Turn | undefined

  const flush = () => {
    if (turn) messages.push(messageOf(turn))
    turn = undefined
  }
  /** The turn that goes on, or the next when this one is beyond what comes. */
  const take = (isBeyond: (turn: Turn) => boolean): Turn => {
    if (turn && isBeyond(turn)) flush()
    turn ??= { reasoning: '', content: undefined, calls: [] }
    return turn
  }

  for (const [place, item] of items.entries()) {
    const where = `${param}[${place}]`
    switch (item.type ?? 'message') {
      case 'message': {
        const content = readContent(item.content, where)
        if (item.role === 'assistant') {
          take(({ content, calls }) => content !== undefined || calls.length > 0).content = content
        } else {
          flush()
          messages.push({ role: readRole(item.role), content })
        }
        break
      }
      case 'reasoning':
        take(({ content, calls }) => content !== undefined || calls.length > 0).reasoning +=
          readThoughts(item)
        break
      case 'function_call':
        take(() => false).calls.push(readCall(item))
        break
      case 'function_call_output':
        flush()
        messages.push({
          role: 'tool',
          tool_call_id: String(item.call_id),
          content: readContent(item.output, where),
        })
        break
      default:
        throw refuse(where, item)
    }
  }
  flush()
  return messages
}

function messageOf({ reasoning, content, calls }: Turn): Message {
  return {
    role: 'assistant',
    content: joinTexts(content) ?? null,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

/** Providers differ in what parts they take from an assistant; all take text. */
function joinTexts(content: Turn['content']): Turn['content'] {
  if (!Array.isArray(content) || content.some(({ type }) => type !== 'text')) return content
  return content.map(({ text }) => text).join('')
}

function readRole(role: unknown): Message['role'] {
  return role === 'system' || role === 'developer' ? role : 'user'
}

function readCall({ call_id, name, arguments: json, extra_content }: InputItem): ToolCall {
  return {
    id: String(call_id),
    type: 'function',
    function: { name: String(name), arguments: String(json) },
    ...(isJsonObject(extra_content) && { extra_content }),
  }
}

function readThoughts({ summary, content }: InputItem): string {
  return readTexts(content) || readTexts(summary)
}

function refuse(where: string, { type, id }: InputItem): GatewayError {
  const message =
    type === 'item_reference'
      ? `${where} refers to ${id}, which is not stored here, or no longer.`
      : `${where} is of type ${type}, which is not supported.`
  return new GatewayError('invalid_value', message, { param: where })
}

/** The content of an item in chat's form. `where` is what error messages call the item. */
function readContent(content: unknown, where: string): string | readonly ContentPart[] {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : ''
  return content.filter(isJsonObject).map((part, place) => readPart(part, `${where}.content[${place}]`))
}

/** The texts of a list of parts, one after the other. */
function readTexts(parts: unknown): string {
  if (!Array.isArray(parts)) return ''
  return parts
    .filter(isJsonObject)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('')
}

function readPart(part: JsonObject, where: string): ContentPart {
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: String(part.text) }
    case 'refusal':
      return { type: 'refusal', refusal: part.refusal }
    case 'input_image':
      return { type: 'image_url', image_url: readImage(part, where) }
    case 'input_file':
      return { type: 'file', file: readFile(part, where) }
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.input_audio }
    default:
      throw new GatewayError('invalid_value', `${where} is of type ${part.type}, which is not supported.`, {
        param: where,
      })
  }
}

function readImage({ image_url, detail }: JsonObject, where: string): JsonObject {
  if (typeof image_url !== 'string') throw needs(where, 'image_url: an address or a data URL')
  return { url: image_url, ...(detail != null && { detail }) }
}

function readFile({ file_id, file_data, filename }: JsonObject, where: string): JsonObject {
  if (file_id == null && file_data == null) throw needs(where, 'file_data or file_id')
  return {
    ...(file_id != null && { file_id }),
    ...(file_data != null && { file_data }),
    ...(filename != null && { filename }),
  }
}

function needs(where: string, what: string): GatewayError {
  return new GatewayError('unsupported_parameter', `${where} needs ${what}.`, { param: where })
}
