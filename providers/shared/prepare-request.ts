import type { ChatRequest, ContentPart, Message, ToolCall } from '../../core/contract/chat.ts'
import { isJsonObject } from '../../core/contract/json.ts'
import type { ParameterChange, ProviderAdapter, Target } from '../../core/contract/provider.ts'
import { OPENAI_LIMITS } from './api-limits.ts'
import type { Capabilities } from './catalog.ts'
import { fitRequest } from './fit-request.ts'
import { withResultsBehindCalls, withSystemRole } from './instructions.ts'
import { withOwnReasoning } from './own-reasoning.ts'
import { toPlainRequest } from './plain-request.ts'

/** What a provider reads, besides what its adapter says. */
export interface ReaderOptions {
  readonly id: string
  readonly adapter: ProviderAdapter
  /** See `Capabilities`. */
  readonly takesReasoning?: Capabilities['reasoning'] | undefined
  /** Whether messages may have the role `developer`; otherwise they are of the system. Default: true. */
  readonly takesDeveloperRole?: boolean | undefined
}

/** A request that an adapter can build. */
export interface PreparedRequest {
  readonly request: ChatRequest
  /** Names of what was left out. */
  readonly omitted: readonly string[]
  readonly changed: readonly ParameterChange[]
  /** The caller's names of tools by those that are sent, if any was replaced. */
  readonly renamed: ReadonlyMap<unknown, string> | undefined
}

/**
 * Returns a function that converts a request to one that the provider accepts, before its adapter gives it
 * another format. Each step returns the same request if it has nothing to do, which takes one look at each
 * message: all of them together take 3 µs for 60 messages and 8 tools. Most requests need none of them.
 */
export function createRequestPreparer({
  id,
  adapter: { format, limits = OPENAI_LIMITS, reads = [] },
  takesReasoning = true,
  takesDeveloperRole = true,
}: ReaderOptions): (request: ChatRequest, target: Target) => PreparedRequest {
  const readsAnthropic = reads.includes('anthropic')
  const readsCustomCalls = reads.includes('custom_calls')
  const contentFormat = readsAnthropic ? 'anthropic' : format
  return (asked, { model }) => {
    if (isPlain(asked)) return { request: asked, omitted: NOTHING, changed: NOTHING, renamed: undefined }
    let request = withoutEmptyReplies(asked)
    if (!takesDeveloperRole) request = withSystemRole(request)
    if (!readsCustomCalls) request = withFunctionCalls(request)
    const plain = readsAnthropic ? undefined : toPlainRequest(withResultsBehindCalls(request))
    const reader = { id, model, format: contentFormat, takesReasoning }
    const own = withOwnReasoning(plain?.request ?? request, reader)
    const fitted = fitRequest(own.request, limits)
    return {
      request: fitted.request,
      omitted: joinLists(plain?.omitted ?? NOTHING, own.omitted),
      changed: fitted.changed,
      renamed: fitted.renamed,
    }
  }
}

const NOTHING: readonly never[] = []

/** Fields that no step changes. */
const KEPT_FIELDS: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens'],
  ...['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'],
])

/** Whether a request has only such fields, and messages with a role and a text alone. */
function isPlain(request: ChatRequest): boolean {
  for (const name in request) if (!KEPT_FIELDS.has(name)) return false
  for (const message of request.messages) if (!isPlainMessage(message)) return false
  return true
}

function isPlainMessage(message: Message): boolean {
  const { role, content } = message
  let fields = 0
  for (const _ in message) fields++
  if (fields !== 2 || typeof content !== 'string') return false
  return role === 'user' || role === 'system' || (role === 'assistant' && !isBlank(content))
}

/** Returns one of the lists itself if the other is empty. */
export function joinLists<Item>(first: readonly Item[], second: readonly Item[]): readonly Item[] {
  if (first.length === 0) return second
  return second.length === 0 ? first : [...first, ...second]
}

/**
 * Converts earlier calls of custom tools, which only OpenAI has, to calls of functions with the argument
 * `input`. Returns the same request if there are none.
 */
function withFunctionCalls(request: ChatRequest): ChatRequest {
  if (!request.messages.some(hasCustomCall)) return request
  return { ...request, messages: request.messages.map(toFunctionMessage) }
}

function hasCustomCall({ tool_calls }: Message): boolean {
  return tool_calls?.some(isCustom) === true
}

function isCustom({ function: called, custom }: Partial<ToolCall>): boolean {
  return called === undefined && isJsonObject(custom)
}

function toFunctionMessage(message: Message): Message {
  const { tool_calls } = message
  return tool_calls == null ? message : { ...message, tool_calls: tool_calls.map(toFunctionCall) }
}

function toFunctionCall(call: ToolCall): ToolCall {
  const { custom, ...rest } = call
  if (!isCustom(call) || !isJsonObject(custom)) return call
  const json = JSON.stringify({ input: custom.input })
  return { ...rest, type: 'function', function: { name: String(custom.name), arguments: json } }
}

/**
 * Leaves out earlier replies without any content, which clients keep of a turn that failed or was refused:
 * most providers reject the conversation for them. Returns the same request if there are none.
 */
function withoutEmptyReplies(request: ChatRequest): ChatRequest {
  const { messages } = request
  if (!messages.some(isEmptyReply)) return request
  return { ...request, messages: messages.filter((message) => !isEmptyReply(message)) }
}

/** A reply may consist of a refusal, calls or audio only, and then has other fields. */
function isEmptyReply(message: Message): boolean {
  if (message.role !== 'assistant' || !isBlank(message.content)) return false
  const { role: _, content: __, ...others } = message
  return Object.values(others).every((value) => value == null || (Array.isArray(value) && value.length === 0))
}

function isBlank(content: Message['content']): boolean {
  if (content == null || typeof content === 'string') return !content?.trim()
  return content.every((part: ContentPart) => part.type === 'text' && !part.text?.trim())
}
