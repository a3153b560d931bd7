import type { ChatRequest, Message, ReasoningData } from '../../core/contract/chat.ts'
import { isJsonObject } from '../../core/contract/json.ts'
import { asObjects, asString } from './fields.ts'

/** The reasoning of earlier replies that a provider takes back. */
export interface ReasoningReader {
  /** The provider's id. */
  readonly id: string
  /** The name of its wire format. */
  readonly format: string
  /** False if it refuses the reasoning of chat messages, as OpenAI does. */
  readonly takesReasoning: boolean
}

/**
 * Leaves out the reasoning that the provider cannot read, because another one issued it. `omitted` names it
 * if the reply to come would have continued it: if the user has said nothing since. Returns the same request
 * if there is nothing to leave out.
 */
export function withOwnReasoning(
  request: ChatRequest,
  reader: ReasoningReader,
): { request: ChatRequest; omitted: readonly string[] } {
  const hasOptions = reader.format !== 'openai' && request.extra_content?.openai !== undefined
  const called = hasOptions ? withoutOpenAiOptions(request) : request
  const { messages } = called
  const isForeign = (message: Message) => hasForeignReasoning(message, reader)
  if (!messages.some(isForeign)) return { request: called, omitted: [] }
  const lastOfUser = messages.findLastIndex(({ role }) => role === 'user')
  const isLost = messages.slice(lastOfUser + 1).some((message) => losesData(message, reader))
  return {
    request: {
      ...called,
      messages: messages.map((message) => (isForeign(message) ? toOwnMessage(message, reader) : message)),
    },
    omitted: isLost ? ['reasoning in messages'] : [],
  }
}

function withoutOpenAiOptions({ extra_content, ...request }: ChatRequest): ChatRequest {
  const { openai: _, ...others } = extra_content ?? {}
  // The cast is safe: only an optional field was removed.
  const plain = request as ChatRequest
  return Object.keys(others).length === 0 ? plain : { ...plain, extra_content: others }
}

/** Fields of chat messages for reasoning: `reasoning` and `reasoning_details` are those of OpenRouter. */
const TEXT_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_details'] as const

function hasForeignReasoning(message: Message, reader: ReasoningReader): boolean {
  if (losesData(message, reader)) return true
  return !reader.takesReasoning && TEXT_FIELDS.some((field) => message[field] !== undefined)
}

function losesData({ reasoning_data }: Message, reader: ReasoningReader): boolean {
  return reasoning_data !== undefined && !asObjects(reasoning_data).every((data) => isReadable(data, reader))
}

/** Signatures of Anthropic are valid on every platform that has its models. */
function isReadable(
  { provider = '', anthropic, openai, chat }: ReasoningData,
  { id, format }: ReasoningReader,
): boolean {
  if (format === 'anthropic') return isJsonObject(anthropic)
  if (format !== 'openai' || (provider !== '' && provider !== id)) return false
  return isJsonObject(openai) || isJsonObject(chat)
}

function toOwnMessage(message: Message, reader: ReasoningReader): Message {
  const { reasoning_data, ...others } = message
  const data = asObjects(reasoning_data).filter((each) => isReadable(each, reader))
  const own: Record<string, unknown> = { ...others, ...(data.length > 0 && { reasoning_data: data }) }
  if (!reader.takesReasoning) for (const field of TEXT_FIELDS) delete own[field]
  // The cast is safe: only optional fields were removed.
  return own as Message
}

/**
 * The reasoning of a message with the fields that its provider, which is compatible with OpenAI, used for it.
 */
export function toChatReasoning({ reasoning_data, ...message }: Message): Message {
  const { field, ...fields } = Object.assign({}, ...asObjects(reasoning_data).map(({ chat }) => chat))
  const { reasoning_content, ...others } = message
  const named = field === 'reasoning' && asString(reasoning_content) !== ''
  const renamed = named ? { ...others, reasoning: reasoning_content } : message
  return { ...renamed, ...fields } as Message
}
