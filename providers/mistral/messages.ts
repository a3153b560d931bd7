import { createHash } from 'node:crypto'
import type { ChatRequest, ContentPart, Message } from '../../core/contract/chat.ts'
import type { Model } from '../../core/contract/provider.ts'
import { joinText, refuseMessage } from '../chat-format/request.ts'
import { toChatToolCall } from '../chat-format/tools.ts'
import { asObject, asString } from '../shared/fields.ts'
import type { AssistantMessage, ChatBody, ChatMessage, Content, ContentChunk } from './wire.ts'

/** The conversation with the fields that Mistral knows (docs/providers.md, "Mistral requests"); thoughts of earlier answers are not among them. */
export function writeMessages(messages: readonly Message[]): readonly ChatMessage[] {
  const idOf = createToolCallIds()
  return messages.map((message, place) => {
    const written = writeMessage(message, idOf)
    return written.role === 'assistant' && place === messages.length - 1 ? markPrefix(written) : written
  })
}

function writeMessage(message: Message, idOf: ToolCallIds): ChatMessage {
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: joinText(message.content) }
    case 'user':
      return { role: 'user', content: writeContent(message.content) }
    case 'assistant':
      return writeAssistant(message, idOf)
    case 'tool': {
      const name = asString(message.name)
      const tool_call_id = idOf(message.tool_call_id ?? '')
      return {
        role: 'tool',
        content: writeContent(message.content),
        tool_call_id,
        ...(name !== '' && { name }),
      }
    }
    case 'function':
      throw refuseMessage('mistral', 'the role function')
  }
}

function writeAssistant({ content, tool_calls }: Message, idOf: ToolCallIds): AssistantMessage {
  const calls = (tool_calls ?? []).map((call) => toChatToolCall(call, idOf(call.id)))
  return {
    role: 'assistant',
    content: joinText(content),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

/** A conversation may end with the assistant's own words only when the answer shall go on from them. */
function markPrefix(message: AssistantMessage): AssistantMessage {
  return message.tool_calls ? message : { ...message, prefix: true }
}

/** The content of a user or tool message, part by part, each with known fields only (docs/providers.md, "Parameters" and "Mistral requests"). */
function writeContent(content: Message['content']): Content {
  return typeof content === 'string' ? content : (content ?? []).map(writePart)
}

function writePart(part: ContentPart): ContentChunk {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: asString(part.text) }
    case 'image_url':
      return writeImage(part.image_url)
    case 'input_audio':
      return { type: 'input_audio', input_audio: asString(asObject(part.input_audio).data) }
    case 'file':
      return writeFile(part)
    case 'document_url':
      return writeDocument(asString(part.document_url), asString(part.document_name))
    default:
      throw refuseMessage('mistral', `parts of type ${part.type}`)
  }
}

/** The URL alone is Mistral's own spelling. */
function writeImage(image: unknown): ContentChunk {
  const { url, detail } = typeof image === 'string' ? { url: image } : asObject(image)
  return {
    type: 'image_url',
    image_url: { url: asString(url), ...(typeof detail === 'string' && { detail }) },
  }
}

function writeFile(part: ContentPart): ContentChunk {
  const { file_id, file_data, filename } = asObject(part.file)
  const id = asString(file_id)
  return id === '' ? writeDocument(asString(file_data), asString(filename)) : { type: 'file', file_id: id }
}

function writeDocument(url: string, name: string): ContentChunk {
  return { type: 'document_url', document_url: url, ...(name !== '' && { document_name: name }) }
}

/** Gives the id that a tool call has with Mistral; the same one each time it is asked. */
type ToolCallIds = (id: string) => string

/**
 * Mistral takes ids of exactly 9 letters and digits (its error 3280). Others are hashed, so that a conversation keeps
 * its ids from turn to turn; two ids of one request never become the same. One of these per request.
 */
export function createToolCallIds(hash: (id: string) => string = shorten): ToolCallIds {
  const given = new Map<string, string>()
  const taken = new Set<string>()

  function choose(id: string): string {
    if (SHORT.test(id) && !taken.has(id)) return id
    let short = hash(id)
    for (let salt = 1; taken.has(short); salt++) short = hash(`${id}#${salt}`)
    return short
  }

  return (id) => {
    const short = given.get(id) ?? choose(id)
    given.set(id, short)
    taken.add(short)
    return short
  }
}

const LENGTH = 9
const SHORT = /^[A-Za-z0-9]{9}$/
const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

function shorten(id: string): string {
  const bytes = createHash('sha256').update(id).digest().subarray(0, LENGTH)
  return Array.from(bytes, (byte) => BASE62.charAt(byte % BASE62.length)).join('')
}

type Reasoning = Pick<ChatBody, 'reasoning_effort' | 'prompt_mode'>

/**
 * How a model is asked to think (docs/providers.md, "Mistral requests"), by its quirks: with the nearest of its efforts, with the prompt mode,
 * or not at all. What is not in the catalogue gets what the request says.
 */
export function writeReasoning(request: ChatRequest, model: Model | undefined): Reasoning {
  const effort = request.reasoning_effort
  if (effort == null) return request.prompt_mode === 'reasoning' ? REASONING : {}
  if (model === undefined) return { reasoning_effort: effort }
  const { thinking, thinking_off, efforts = [] } = model.quirks
  if (effort === 'none' && thinking_off) return { reasoning_effort: effort }
  if (thinking === 'prompt_mode') return effort === 'none' ? {} : REASONING
  return { reasoning_effort: findNearest(effort, efforts) }
}

const REASONING: Reasoning = { prompt_mode: 'reasoning' }

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** The least effort that is enough, else the most there is; undefined without any. */
function findNearest(wanted: string, efforts: readonly string[]): string | undefined {
  const rank = EFFORTS.indexOf(wanted)
  return efforts.find((effort) => EFFORTS.indexOf(effort) >= rank) ?? efforts.at(-1)
}
