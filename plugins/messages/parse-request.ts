import type { IncomingHttpHeaders } from 'node:http'
import {
  type ChatRequest,
  type ContentPart,
  type ExtraContent,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Message,
  type Tool,
  type ToolCall,
} from '../../core/contract/index.ts'
import {
  decodeReasoning,
  isEncodedReasoning,
  withReasoningData,
} from '../../core/dialects/carried-reasoning.ts'
import { checkResponseFormat, checkToolChoice } from '../../core/dialects/check-request.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import { toFile, toImageUrl } from '../../providers/shared/plain-request.ts'
import {
  countTokensRequestSchema,
  type MessageBlock,
  type MessageContent,
  type MessagesBody,
  messagesRequestSchema,
} from './request-schema.ts'

/** Converts the system prompt and the messages to canonical messages. */
function parseMessages(
  system: MessageContent | undefined,
  messages: readonly { readonly role: string; readonly content: MessageContent }[],
): readonly Message[] {
  const instructions = system === undefined || system.length === 0 ? [] : [toSystemMessage(system)]
  return [...instructions, ...messages.flatMap(toCanonicalMessages)]
}

function toCanonicalMessages(message: {
  readonly role: string
  readonly content: MessageContent
}): readonly Message[] {
  const { content } = message
  if (message.role === 'system') return [toSystemMessage(content)]
  if (message.role === 'assistant') return [toAssistantMessage(content)]
  if (typeof content === 'string') return [{ role: 'user', content }]
  const results = content.filter(({ type }) => type === 'tool_result')
  const others = content.filter(({ type }) => type !== 'tool_result')
  const user: Message = { role: 'user', content: others.map(toContentPart) }
  return [...results.map(toToolMessage), ...(others.length > 0 || results.length === 0 ? [user] : [])]
}

function toSystemMessage(content: MessageContent): Message {
  return { role: 'system', content: typeof content === 'string' ? content : content.map(toContentPart) }
}

/**
 * Tool calls are listed beside the content. If other blocks follow them, their places in the content are
 * marked, because Anthropic verifies that earlier turns are unchanged.
 */
function toAssistantMessage(content: MessageContent): Message {
  if (typeof content === 'string') return { role: 'assistant', content }
  const isCall = ({ type }: MessageBlock) => type === 'tool_use'
  const isMixed = content.slice(content.findIndex(isCall)).some((block) => !isCall(block))
  const calls = content.filter(isCall)
  const parts = content.flatMap((block) => {
    if (!isCall(block)) return toContentPart(withoutEncodedSignature(block))
    return isMixed ? [toExtraPart({ type: 'tool_use', id: block.id })] : []
  })
  const message: Message = {
    role: 'assistant',
    content: parts.length > 0 ? parts : null,
    ...(calls.length > 0 && { tool_calls: calls.map(toToolCall) }),
  }
  let callIndex = 0
  return content.reduce((built, block) => {
    if (isCall(block)) callIndex++
    const data = decodeReasoning(block.signature)
    return data.length === 0 ? built : withReasoningData(built, data, callIndex)
  }, message)
}

/** Only the gateway reads what it encoded: the thinking is that of a provider other than Anthropic. */
function withoutEncodedSignature(block: MessageBlock): MessageBlock {
  if (!isEncodedReasoning(block.signature)) return block
  const { signature: _, ...others } = block
  // The cast is safe: the type stays.
  return others as MessageBlock
}

/** `extra_content` is what another provider wants back with the call. */
function toToolCall({ type: _, id, name, input, extra_content, ...others }: MessageBlock): ToolCall {
  // The schema requires the id, the name and the input.
  const called = { name: String(name), arguments: JSON.stringify(input) }
  const extra = { ...(isJsonObject(extra_content) && extra_content), ...toExtraContent(others).extra_content }
  return {
    id: String(id),
    type: 'function',
    function: called,
    ...(Object.keys(extra).length > 0 && { extra_content: extra }),
  }
}

function toToolMessage({ type: _, tool_use_id, content, ...others }: MessageBlock): Message {
  return {
    role: 'tool',
    tool_call_id: String(tool_use_id),
    content: Array.isArray(content) ? content.map(toContentPart) : ((content as string | undefined) ?? ''),
    ...toExtraContent(others),
  }
}

/** Blocks that the canonical form cannot express become parts of the type `extra_content`. */
function toContentPart(block: MessageBlock): ContentPart {
  const { type, ...others } = block
  switch (type) {
    case 'text': {
      const { text, ...more } = others
      return { type, text: String(text), ...toExtraContent(more) }
    }
    case 'image': {
      const { source, ...more } = others
      const url = isJsonObject(source) && toImageUrl(source)
      if (url) return { type: 'image_url', image_url: { url }, ...toExtraContent(more) }
      break
    }
    case 'document': {
      const { source, title, ...more } = others
      const located = isJsonObject(source) && toFile(source)
      if (!located) break
      const file = { ...located, ...(typeof title === 'string' && { filename: title }) }
      return { type: 'file', file, ...toExtraContent(more) }
    }
  }
  return toExtraPart(block)
}

function toExtraPart(block: JsonObject): ContentPart {
  return { type: 'extra_content', extra_content: { anthropic: block } }
}

/** Fields that the canonical form has no place for; none if they are all null. */
function toExtraContent(fields: JsonObject): { readonly extra_content?: ExtraContent } {
  const set = Object.entries(fields).filter(([, value]) => value != null)
  return set.length === 0 ? {} : { extra_content: { anthropic: Object.fromEntries(set) } }
}

const parseBody = createLazyParser(messagesRequestSchema)
const parseCountBody = createLazyParser(countTokensRequestSchema)

/** Converts a body of `POST /v1/messages` to a canonical request. Throws 400 with the invalid parameter. */
export function parseMessagesRequest(body: JsonObject, headers: IncomingHttpHeaders): ChatRequest {
  return toChatRequest(parseBody(body), headers)
}

/** The same for `POST /v1/messages/count_tokens`. */
export function parseCountTokensRequest(body: JsonObject, headers: IncomingHttpHeaders): ChatRequest {
  return toChatRequest(parseCountBody(body), headers)
}

function toChatRequest(body: MessagesBody, headers: IncomingHttpHeaders): ChatRequest {
  const { model, messages, system, max_tokens, temperature, top_p, stop_sequences, stream, ...rest } = body
  const { tools: toolInputs, tool_choice, ...fields } = rest
  const { metadata, thinking, output_config, thread } = fields
  if (thread != null) throw threadError()
  const effort = toReasoningEffort(thinking, output_config)
  const user = metadata?.user_id
  const tools = (toolInputs ?? []).map(toChatTool)
  const toolChoice = toToolChoice(tool_choice)
  checkToolChoice({ tools, ...toolChoice })
  if (output_config?.format != null) checkResponseFormat(output_config.format, 'output_config.format')
  return {
    ...(model != null && { model }),
    messages: parseMessages(system, messages),
    ...(max_tokens != null && { max_tokens }),
    ...(temperature != null && { temperature }),
    ...(top_p != null && { top_p }),
    ...(stop_sequences != null && stop_sequences.length > 0 && { stop: stop_sequences }),
    ...(stream === true && { stream }),
    ...(metadata != null && { metadata }),
    ...(user != null && user.length <= MAX_USER_CHARS && { user }),
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(tools.length > 0 && { tools, ...toolChoice }),
    extra_content: { anthropic: { ...parseHeaders(headers), fields } },
  }
}

/** Other providers reject longer ids. Anthropic receives `metadata` itself. */
const MAX_USER_CHARS = 64

/** Throws 400 for a tool without a name or a schema, unless it is one that Anthropic provides. */
function toChatTool(tool: NonNullable<MessagesBody['tools']>[number], index: number): Tool {
  const { name, type, description, input_schema, strict, ...others } = tool
  if (type != null && type !== 'custom') return { type: 'extra_content', extra_content: { anthropic: tool } }
  if (name === undefined || name === '') throw missingFieldError(`tools[${index}].name`)
  if (input_schema == null) throw missingFieldError(`tools[${index}].input_schema`)
  return {
    type: 'function',
    function: {
      name,
      ...(description != null && { description }),
      parameters: input_schema,
      ...(strict != null && { strict }),
    },
    ...toExtraContent({ type, ...others }),
  }
}

function toToolChoice(choice: MessagesBody['tool_choice']): Partial<ChatRequest> {
  if (choice == null) return {}
  const { type, name, disable_parallel_tool_use } = choice
  const parallel = disable_parallel_tool_use === true && { parallel_tool_calls: false }
  if (type !== 'tool') return { tool_choice: type === 'any' ? 'required' : type, ...parallel }
  if (name !== undefined) return { tool_choice: { type: 'function', function: { name } }, ...parallel }
  throw missingFieldError('tool_choice.name')
}

function missingFieldError(param: string): GatewayError {
  return new GatewayError('missing_parameter', `${param} is required.`, { param })
}

/** Anthropic's SDKs send the whole conversation after this error, which their tool runners first do not. */
function threadError(): GatewayError {
  const message = 'Threads are not supported. Send the whole conversation without "thread".'
  const code = 'thread_unsupported_request'
  return new GatewayError(code, message, { param: 'thread', wireCode: code })
}

/** Budgets of thinking up to these numbers of tokens count as these efforts. */
const LOW_BUDGET = 4096
const MEDIUM_BUDGET = 12_000

/** What the thinking of Anthropic's models is to models of others. */
function toReasoningEffort(
  thinking: MessagesBody['thinking'],
  config: MessagesBody['output_config'],
): string | undefined {
  const type = thinking?.type
  if (type === 'disabled') return undefined
  const effort = config?.effort
  if (effort != null) return effort === 'low' || effort === 'medium' ? effort : 'high'
  if (type === undefined) return undefined
  const budget = type === 'enabled' ? (thinking?.budget_tokens ?? 0) : MEDIUM_BUDGET
  if (budget <= LOW_BUDGET) return 'low'
  return budget <= MEDIUM_BUDGET ? 'medium' : 'high'
}

/** The headers that choose a version and features of Anthropic's API. */
function parseHeaders(headers: IncomingHttpHeaders): JsonObject {
  const version = headers['anthropic-version']
  const betas = String(headers['anthropic-beta'] ?? '')
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '')
  if (version !== undefined && !/^\d{4}-\d{2}-\d{2}$/.test(String(version)))
    throw headerError('anthropic-version', 'a date, such as 2023-06-01')
  if (!betas.every((beta) => /^[\w.-]{1,100}$/.test(beta)))
    throw headerError('anthropic-beta', 'a list of names, separated by commas')
  return { ...(version !== undefined && { version }), ...(betas.length > 0 && { betas }) }
}

function headerError(name: string, form: string): GatewayError {
  return new GatewayError('invalid_value', `The header ${name} must be ${form}.`, { param: name })
}

/**
 * Returns where the caller wrote what an error calls by its path in the canonical request, such as
 * `messages[1].content[0].file.file_url`. See `parseMessages`.
 */
export function toMessagesPath(path: string, { system, messages, thinking }: JsonObject): string {
  const [, index, , partIndex, rest = ''] = PATH.exec(path) ?? []
  if (path === 'reasoning_effort' && thinking != null) return 'thinking'
  if (index === undefined || !Array.isArray(messages)) return toToolPath(path)
  const part = partIndex === undefined ? undefined : Number(partIndex)
  const hasSystem = (typeof system === 'string' || Array.isArray(system)) && system.length > 0
  let position = Number(index) - (hasSystem ? 1 : 0)
  if (position < 0) return part === undefined ? 'system' : `system[${part}]`
  for (const [messageIndex, { role, content }] of messages.filter(isJsonObject).entries()) {
    const own = `messages[${messageIndex}]`
    const blocks = Array.isArray(content) ? content.filter(isJsonObject) : []
    const indexesOf = (isWanted: (type: unknown) => boolean) =>
      [...blocks.keys()].filter((each) => isWanted(blocks[each]?.type))
    const results = role === 'user' ? indexesOf((type) => type === 'tool_result') : []
    if (position < results.length) {
      const result = `${own}.content[${results[position]}]`
      return (part === undefined ? result : `${result}.content[${part}]`) + toBlockPath(rest)
    }
    position -= results.length
    const hasOthers = results.length === 0 || results.length < blocks.length
    if (position === 0 && hasOthers) {
      const [, call] = /^\.tool_calls\[(\d+)\]/.exec(rest) ?? []
      if (call !== undefined) return `${own}.content[${indexesOf(isCall)[Number(call)] ?? 0}]`
      const others = indexesOf((type) => type !== 'tool_result')
      return part === undefined ? own : `${own}.content[${others[part] ?? part}]${toBlockPath(rest)}`
    }
    if (hasOthers) position--
  }
  return 'messages'
}

const PATH = /^messages\[(\d+)\](\.content(?:\[(\d+)\])?)?(.*)$/

function toToolPath(path: string): string {
  return path
    .replace(/^(tools\[\d+\]|tool_choice)\.function/, '$1')
    .replace(/^(tools\[\d+\])\.parameters/, '$1.input_schema')
}

const isCall = (type: unknown) => type === 'tool_use'

function toBlockPath(rest: string): string {
  return rest
    .replace(/^\.image_url(\.url)?$/, '.source')
    .replace(/^\.file\.file_(data|url|id)$/, '.source')
    .replace(/^\.file$/, '.source')
    .replace(/^\.tool_call_id$/, '.tool_use_id')
}
