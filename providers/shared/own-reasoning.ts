import type { ChatRequest, Message, ReasoningData } from '../../core/contract/chat.ts'
import { isJsonObject } from '../../core/contract/json.ts'
import { asObject, asObjects, asString } from './fields.ts'

/** The reasoning of earlier replies that a provider takes back. */
export interface ReasoningReader {
  /** The provider's id. */
  readonly id: string
  /** The model that is asked. */
  readonly model: string
  /** The name of its wire format; `anthropic` for all that read Anthropic's content. */
  readonly format: string
  /**
   * False if it refuses the reasoning of chat messages, as OpenAI does; `required` if it refuses calls
   * without it.
   */
  readonly takesReasoning: boolean | 'required'
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
  const isChanged = (message: Message) =>
    losesData(message, reader) || losesTexts(message, reader) || lacksReasoning(message, reader)
  if (!messages.some(isChanged)) return { request: called, omitted: [] }
  const lastOfUser = messages.findLastIndex(({ role }) => role === 'user')
  const isLost = messages.slice(lastOfUser + 1).some((message) => losesData(message, reader))
  return {
    request: {
      ...called,
      messages: messages.map((message) => (isChanged(message) ? toOwnMessage(message, reader) : message)),
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

function losesTexts(message: Message, { takesReasoning }: ReasoningReader): boolean {
  return !takesReasoning && TEXT_FIELDS.some((field) => message[field] !== undefined)
}

function lacksReasoning(message: Message, { takesReasoning }: ReasoningReader): boolean {
  if (takesReasoning !== 'required' || message.tool_calls == null || message.tool_calls.length === 0)
    return false
  return TEXT_FIELDS.every((field) => !message[field])
}

/** What Kimi accepts for reasoning that is not known; an empty text counts as missing. */
const BLANK_REASONING = ' '

function losesData({ reasoning_data }: Message, reader: ReasoningReader): boolean {
  return reasoning_data !== undefined && !asObjects(reasoning_data).every((data) => isReadable(data, reader))
}

/** Anthropic's signatures are valid on every platform that has the model. */
function isReadable(
  { provider = '', model, anthropic, openai, chat }: ReasoningData,
  { id, format, model: own }: ReasoningReader,
): boolean {
  if (format === 'anthropic') return isJsonObject(anthropic) && (model === undefined || model === own)
  if (format !== 'openai' || (provider !== '' && provider !== id)) return false
  return isJsonObject(openai) || isJsonObject(chat)
}

function toOwnMessage(message: Message, reader: ReasoningReader): Message {
  const { reasoning_data, ...others } = message
  const data = asObjects(reasoning_data).filter((each) => isReadable(each, reader))
  const own: Record<string, unknown> = { ...others, ...(data.length > 0 && { reasoning_data: data }) }
  if (!reader.takesReasoning) for (const field of TEXT_FIELDS) delete own[field]
  if (lacksReasoning(message, reader)) own.reasoning_content = BLANK_REASONING
  // The cast is safe: only optional fields were changed.
  return own as Message
}

/**
 * The reasoning of a message with the fields that its provider, which is compatible with OpenAI, used for it.
 */
export function toChatReasoning({ reasoning_data, ...message }: Message): Message {
  const fields = asObjects(reasoning_data).map(({ chat }) => asObject(chat))
  const details = fields.flatMap(({ reasoning_details }) => asObjects(reasoning_details))
  const { reasoning_content, ...others } = message
  const isNamed = fields.some(({ field }) => field === 'reasoning') && asString(reasoning_content) !== ''
  return {
    ...(isNamed ? { ...others, reasoning: reasoning_content } : message),
    ...(details.length > 0 && { reasoning_details: details }),
  } as Message
}
