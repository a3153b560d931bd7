import type { ChatRequest, ContentPart, Message, ToolCall } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { toCallArguments } from '../shared/call-arguments.ts'
import { asObject, asObjects, asString } from '../shared/fields.ts'
import { isInstruction, markLaterInstructions } from '../shared/instructions.ts'
import { invalidValueError, missingParameterError, unsupportedPartError } from '../shared/request-errors.ts'
import { toDocumentBlock, toImageBlock } from './media.ts'
import type {
  AnthropicBody,
  AnthropicMessage,
  CacheControl,
  ContentBlock,
  DocumentBlock,
  ImageBlock,
  TextBlock,
  ToolResultBlock,
  ToolUseBlock,
} from './wire.ts'

/** Replaces the response format `json_object`, which Anthropic does not have. */
const JSON_INSTRUCTION =
  'Answer with a single JSON object and nothing else: no words before or after it, and no code fence.'

/**
 * The system prompt and the messages (docs/providers.md, "Anthropic"). If there are only system
 * messages, they are sent as a user message, because Anthropic requires one. Throws a `GatewayError` for
 * unsupported content. `isForModel`: the request was written for this model in Anthropic's format, so its
 * turns stay as they are.
 */
export function toAnthropicMessages(
  request: ChatRequest,
  isForModel = false,
): Pick<AnthropicBody, 'system' | 'messages'> {
  const instruction = request.response_format?.type === 'json_object' ? JSON_INSTRUCTION : undefined
  const sent = isForModel ? request.messages : markLaterInstructions(request.messages)
  const firstTurn = sent.findIndex((message) => !isInstruction(message))
  const prompt = firstTurn === -1 ? sent : sent.slice(0, firstTurn)
  const system = toSystemPrompt(prompt, instruction, isForModel)
  const messages = mergeMessages(sent, prompt.length, isForModel)
  if (messages.length > 0) return { system, messages }
  if (system === undefined)
    throw invalidValueError('messages', 'must hold a text that is not empty, for anthropic.')
  const content = typeof system === 'string' ? [{ type: 'text' as const, text: system }] : system
  return { messages: [{ role: 'user', content }] }
}

/**
 * The text of the instructions before the first turn: a list of blocks only if one of them has a cache
 * control, or if the caller wrote a list for Anthropic.
 */
function toSystemPrompt(
  prompt: readonly Message[],
  instruction: string | undefined,
  isForModel: boolean,
): string | readonly TextBlock[] | undefined {
  const blocks = prompt.flatMap((message, index) =>
    withCacheControl(message, toTextBlocks(message.content, `messages[${index}].content`)),
  )
  if (instruction) blocks.push({ type: 'text', text: instruction })
  if (blocks.length === 0) return undefined
  if (blocks.some(({ cache_control }) => cache_control)) return blocks
  if (isForModel && prompt.some(({ content }) => Array.isArray(content))) return blocks
  return blocks.map(({ text }) => text).join('\n\n')
}

/**
 * Merges consecutive messages of the same role, so that all tool results for a reply are in one message,
 * before the user's text.
 */
function mergeMessages(
  messages: readonly Message[],
  firstTurn: number,
  isForModel: boolean,
): readonly AnthropicMessage[] {
  const merged: { role: AnthropicMessage['role']; content: ContentBlock[] }[] = []
  for (const [index, message] of messages.entries()) {
    if (index < firstTurn) continue
    const role = toAnthropicRole(message)
    const blocks = withCacheControl(message, toContentBlocks(message, `messages[${index}]`, isForModel))
    const last = merged.at(-1)
    if (blocks.length === 0) continue
    if (last?.role === role) last.content.push(...blocks)
    else merged.push({ role, content: blocks })
  }
  const ordered = merged.map(withToolResultsFirst)
  if (!isForModel) return ordered.map(trimReply)
  const last = ordered.at(-1)
  return last === undefined ? ordered : [...ordered.slice(0, -1), trimReply(last)]
}

function toAnthropicRole(message: Message): AnthropicMessage['role'] {
  if (isInstruction(message)) return 'system'
  return message.role === 'assistant' ? 'assistant' : 'user'
}

/** The cache control of a whole message is that of its last block. */
function withCacheControl<Block extends ContentBlock>({ cache_control }: Message, blocks: Block[]): Block[] {
  const control = cache_control == null ? undefined : toCacheControl(cache_control)
  const last = blocks.at(-1)
  if (control === undefined || last === undefined || last.cache_control !== undefined) return blocks
  return [...blocks.slice(0, -1), { ...last, cache_control: control }]
}

/** Anthropic requires tool results before other content of the same message. */
function withToolResultsFirst({ role, content }: AnthropicMessage): AnthropicMessage {
  const isResult = ({ type }: ContentBlock) => type === 'tool_result'
  return { role, content: [...content.filter(isResult), ...content.filter((block) => !isResult(block))] }
}

/**
 * The reply continues an assistant message at the end, which must not end in white space. All replies are
 * trimmed, so that a message stays as it was when others follow it.
 */
function trimReply({ role, content }: AnthropicMessage): AnthropicMessage {
  const block = content.at(-1)
  if (role !== 'assistant' || block?.type !== 'text') return { role, content }
  return { role, content: [...content.slice(0, -1), { ...block, text: block.text.trimEnd() }] }
}

/** `path` is the location in the request for error messages, such as `messages[2]`. */
function toContentBlocks(message: Message, path: string, isForModel: boolean): ContentBlock[] {
  switch (message.role) {
    case 'assistant':
      return toAssistantBlocks(message, path, isForModel)
    case 'tool':
      return [toToolResultBlock(message, path)]
    default:
      return toBlocks(message.content, `${path}.content`)
  }
}

/** Calls whose place in the content is marked are there, all others at the end. */
function toAssistantBlocks(message: Message, path: string, isForModel: boolean): ContentBlock[] {
  const calls = (message.tool_calls ?? []).map((call, index) => ({
    id: call.id,
    block: toToolUseBlock(call, `${path}.tool_calls[${index}]`),
  }))
  const parts = partsOf(message.content ?? asString(message.refusal))
  const blocks: readonly ContentBlock[] = parts.flatMap((part, index): readonly ContentBlock[] => {
    const extra = part.type === 'extra_content' ? asObject(part.extra_content?.anthropic) : undefined
    if (extra?.type === 'tool_use') {
      const marked = calls.findIndex(({ id }) => id === extra.id)
      return marked === -1 ? [] : calls.splice(marked, 1).map(({ block }) => block)
    }
    if (isThinking(extra) && !(isForModel && mayBeSentBack(extra))) return []
    return toTextBlocks([part], `${path}.content`, index)
  })
  const carried = blocks.some((block) => isThinking(block as unknown as JsonObject))
    ? []
    : toCarriedThinking(message)
  return [...carried, ...blocks, ...calls.map(({ block }) => block)]
}

/** Thinking that clients of another format have sent back. */
function toCarriedThinking({ reasoning_data }: Message): readonly ContentBlock[] {
  const thinking = asObjects(reasoning_data).map(({ anthropic }) => asObject(anthropic))
  // The cast stands for a block that Anthropic validates.
  return thinking.filter(isThinking).filter(mayBeSentBack) as unknown as readonly ContentBlock[]
}

function isThinking(block: JsonObject | undefined): block is JsonObject {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking'
}

/** Whether the last reply holds thinking that may be sent back, in Anthropic's own format or carried. */
export function endsWithSignedThinking({ messages }: ChatRequest, isForModel: boolean): boolean {
  const last = messages.findLast(({ role }) => role === 'assistant')
  if (last === undefined) return false
  const own = isForModel ? partsOf(last.content).map(extraFields) : []
  return own.some((block) => isThinking(block) && mayBeSentBack(block)) || toCarriedThinking(last).length > 0
}

/** Anthropic verifies its signature. Thinking of other providers has none. */
function mayBeSentBack({ type, signature }: JsonObject): boolean {
  return type === 'redacted_thinking' || asString(signature) !== ''
}

function toToolUseBlock(call: ToolCall, path: string): ToolUseBlock {
  const { id, function: called, extra_content } = call
  const cache_control = toCacheControl(call.cache_control)
  return {
    ...asObject(extra_content?.anthropic),
    type: 'tool_use',
    id,
    name: called.name,
    input: toCallArguments(call, path),
    ...(cache_control && { cache_control }),
  }
}

function toToolResultBlock({ tool_call_id, content, extra_content }: Message, path: string): ToolResultBlock {
  const id = asString(tool_call_id)
  if (id === '') throw missingParameterError(`${path}.tool_call_id`)
  const parts = typeof content === 'string' ? [] : (content ?? [])
  // Anthropic caches whole blocks, not parts of a result.
  const cache_control = parts.map((part) => toCacheControl(part.cache_control)).findLast(Boolean)
  return {
    ...asObject(extra_content?.anthropic),
    type: 'tool_result',
    tool_use_id: id,
    content:
      typeof content === 'string' ? content : toBlocks(parts.map(withoutCacheControl), `${path}.content`),
    ...(cache_control && { cache_control }),
  }
}

function withoutCacheControl({ cache_control: _, ...part }: ContentPart): ContentPart {
  return part as ContentPart
}

type Content = Message['content']
type MediaBlock = TextBlock | ImageBlock | DocumentBlock

/** The content of a user or tool message without blank texts, which Anthropic rejects. */
function toBlocks(content: Content, path: string): MediaBlock[] {
  return partsOf(content).flatMap((part, index) => toMediaBlocks(part, `${path}[${index}]`))
}

/** The content of a system or assistant message, which may hold text only. */
function toTextBlocks(content: Content, path: string, firstIndex = 0): TextBlock[] {
  return partsOf(content).flatMap((part, index) => {
    if (part.type === 'text' || part.type === 'refusal') return toTextBlock(part)
    if (part.type === 'extra_content') return toExtraBlock(part)
    throw unsupportedPartError('anthropic', `${path}[${firstIndex + index}]`, part.type)
  })
}

function partsOf(content: Content): readonly ContentPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
}

/** Throws a `GatewayError` for a part that the user cannot send. */
export function toMediaBlocks(part: ContentPart, path: string): readonly MediaBlock[] {
  switch (part.type) {
    case 'text':
      return toTextBlock(part)
    case 'image_url':
      return [withExtraFields(part, toImageBlock(part, path))]
    case 'file':
      return [withExtraFields(part, toDocumentBlock(part, path))]
    case 'extra_content':
      return toExtraBlock(part)
    default:
      throw unsupportedPartError('anthropic', path, part.type)
  }
}

/** A block that the caller wrote for Anthropic. */
function toExtraBlock(part: ContentPart): readonly TextBlock[] {
  const block = extraFields(part)
  // The cast stands for a block of any type, which Anthropic validates.
  return typeof block.type === 'string' ? [block as unknown as TextBlock] : []
}

function withExtraFields<Block extends MediaBlock>(part: ContentPart, block: Block): Block {
  const cache_control = toCacheControl(part.cache_control)
  return { ...extraFields(part), ...block, ...(cache_control && { cache_control }) }
}

/** Fields that the caller wrote for Anthropic. */
function extraFields({ extra_content }: ContentPart): JsonObject {
  return asObject(extra_content?.anthropic)
}

/** One block, or none for a blank text. */
function toTextBlock(part: ContentPart): readonly TextBlock[] {
  const text = part.type === 'refusal' ? asString(part.refusal) : asString(part.text)
  if (text.trim() === '') return []
  return [withExtraFields(part, { type: 'text', text })]
}

/** The `cache_control` of a part, a tool or the request; undefined for an invalid value. */
export function toCacheControl(value: unknown): CacheControl | undefined {
  if (!isJsonObject(value) || value.type !== 'ephemeral') return undefined
  const { ttl } = value
  return ttl === '5m' || ttl === '1h' ? { type: 'ephemeral', ttl } : { type: 'ephemeral' }
}
