import { type FinishReason, ReplyEvent, type ReplyPart, type Usage } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { toServedTier, toToolCalls } from '../../core/prices/price-terms.ts'
import { incompleteReplyError, unusableReplyError } from '../shared/errors.ts'
import { asObject, asObjects, asString, asTokens, toUnreadPart } from '../shared/fields.ts'
import { isChatErrorRecord, parseChatErrorRecord } from './errors.ts'
import { ReasoningFields, reasoningTextOf } from './reasoning-fields.ts'
import { toToolCallParts } from './tools.ts'

/** Parses a chat completion. Throws a `GatewayError` for an error body and for any other value. */
export function parseChatReply(body: unknown): ReplyEvent {
  const native = asObject(body)
  if (isChatErrorRecord(native)) throw parseChatErrorRecord(native)
  const choice = findFirstChoice(native)
  const message = choice?.message
  if (!isJsonObject(choice) || !isJsonObject(message))
    throw unusableReplyError("The provider's reply is not a chat completion.")

  const usage = toChatUsage(native.usage, native.service_tier, citesPages(message))
  const parts: ReplyPart[] = [{ type: 'start', id: asString(native.id), model: asString(native.model) }]
  addContentParts(parts, message, new ReasoningFields())
  if (message.tool_calls !== undefined) parts.push(...toToolCallParts(message.tool_calls))
  const reason = toChatFinishReason(choice.finish_reason)
  if (reason === undefined && parts.length === 1) throw incompleteReplyError()
  if (usage) parts.push({ type: 'usage', usage })
  parts.push({ type: 'finish', reason: reason ?? 'stop' })
  return new ReplyEvent(parts, { record: native })
}

/** The choice with an index or, without one, the first choice: no request asks for several. */
export function findFirstChoice({ choices }: JsonObject, index?: unknown): JsonObject | undefined {
  if (!Array.isArray(choices)) return undefined
  const first: unknown = choices[0]
  if (isJsonObject(first) && (first.index ?? 0) === (index ?? 0)) return first
  const objects = asObjects(choices)
  const found = objects.find((choice) => Number(choice.index ?? 0) === Number(index ?? 0))
  return found ?? (index === undefined ? objects[0] : undefined)
}

/**
 * Maps a `finish_reason`. Undefined until the model has finished; an unknown reason counts as `stop`. Throws
 * a `GatewayError` if the provider aborted the reply.
 */
export function toChatFinishReason(value: unknown): FinishReason | undefined {
  if (typeof value !== 'string' || value === '' || value === 'null') return undefined
  if (FAILURES.has(value))
    throw unusableReplyError(`The provider aborted its reply (finish_reason: ${value}).`)
  return FINISH_REASONS.get(value) ?? FINISH_REASONS.get(value.toLowerCase()) ?? 'stop'
}

/** Of Mistral, and of DeepSeek. */
const FAILURES = new Set(['error', 'insufficient_system_resource'])

/** Those of OpenAI, and what compatible providers send in their place. */
const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['function_call', 'tool_calls'],
  ['tool_call', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_length', 'length'], // Mistral: the context is full.
  ['safety', 'content_filter'],
  ['refusal', 'content_filter'],
  ['sensitive', 'content_filter'],
])

/**
 * Adds the reasoning, text and refusal of a message or delta, in the order in which a model produces them.
 * `fields` collects how the provider writes its reasoning. It is added before what follows the reasoning.
 */
export function addContentParts(parts: ReplyPart[], message: JsonObject, fields: ReasoningFields): void {
  addPart(parts, 'reasoning', reasoningTextOf(message))
  fields.add(message)
  if (hasMore(message)) parts.push(...fields.take())
  if (Array.isArray(message.content)) addChunks(parts, message.content)
  else addPart(parts, 'text', message.content)
  addPart(parts, 'refusal', message.refusal)
  addMedia(parts, message)
}

/** Adds images, in the form of OpenRouter and LiteLLM, and what is said in audio instead of text. */
function addMedia(parts: ReplyPart[], { content, images, audio, annotations }: JsonObject): void {
  if (images != null) for (const image of asObjects(images)) addImage(parts, image)
  if (audio != null) {
    if (!content) addPart(parts, 'text', asObject(audio).transcript)
    parts.push(toUnreadPart('audio'))
  }
  if (annotations != null && asObjects(annotations).length > 0) parts.push(toUnreadPart('annotations'))
}

function addImage(parts: ReplyPart[], { image_url }: JsonObject): void {
  const url = asString(image_url) || asString(asObject(image_url).url)
  if (url !== '') parts.push({ type: 'image', url })
}

function hasMore({ content, refusal, tool_calls }: JsonObject): boolean {
  return Boolean(content || refusal || tool_calls)
}

function addPart(parts: ReplyPart[], type: 'reasoning' | 'text' | 'refusal', text: unknown): void {
  if (typeof text === 'string' && text !== '') parts.push({ type, text })
}

/**
 * Adds Mistral's content lists: `{type:"text", text}` and `{type:"thinking", thinking:[{type:"text", text}]}`
 * (docs/providers.md, "Mistral").
 */
function addChunks(parts: ReplyPart[], chunks: readonly unknown[]): void {
  for (const chunk of asObjects(chunks)) {
    if (chunk.type === 'thinking')
      for (const { text } of asObjects(chunk.thinking)) addPart(parts, 'reasoning', text)
    else if (chunk.type === 'image_url') addImage(parts, chunk)
    else if (typeof chunk.text === 'string') addPart(parts, 'text', chunk.text)
    else parts.push(toUnreadPart(chunk.type))
  }
}

/** The usage of a chunk. Groq has it in `x_groq`, Moonshot in the choice. */
export function usageOf(chunk: JsonObject, choice: JsonObject | undefined): unknown {
  return chunk.usage ?? choice?.usage ?? asObject(chunk.x_groq).usage
}

/**
 * Token counts. Undefined for records without any, which are all chunks of a stream but one. `tier`:
 * `service_tier` of the reply.
 */
export function toChatUsage(value: unknown, tier?: unknown, hasSearched = false): Usage | undefined {
  if (!isJsonObject(value)) return undefined
  const prompt = asTokens(value.prompt_tokens)
  const answer = asTokens(value.completion_tokens)
  const total = asTokens(value.total_tokens)
  if (prompt === undefined && answer === undefined && total === undefined) return undefined
  const cached = cachedTokensOf(value)
  const cacheWrite = asTokens(asObject(value.prompt_tokens_details).cache_write_tokens)
  const reasoning =
    asTokens(asObject(value.completion_tokens_details).reasoning_tokens) ?? asTokens(value.reasoning_tokens)
  const completion = answer ?? 0
  // An embedding has no other tokens than those of its input.
  const input = prompt ?? Math.max(0, (total ?? 0) - completion)
  const terms = { ...toServedTier(tier), ...toToolCalls(...toolUseOf(value), hasSearched && ONE_SEARCH) }
  return toUsage(input, completion, total, cached, cacheWrite, reasoning, terms)
}

const ONE_SEARCH = { web_search_preview: 1 }

/** What decides about the price besides token counts. */
export type UsageTerms = Pick<Usage, 'tier' | 'toolCalls'>

/** Token counts of a reply, by the provider's numbers. */
export function toUsage(
  input: number,
  completion: number,
  total: number | undefined,
  cached: number | undefined,
  cacheWrite: number | undefined,
  reasoning: number | undefined,
  terms?: UsageTerms,
): Usage {
  // Some compatible providers, such as xAI, count reasoning in the total only.
  const isSeparate = total === input + completion + (reasoning ?? 0)
  const usage: { -readonly [Name in keyof Usage]: Usage[Name] } = {
    input,
    output: isSeparate ? completion + (reasoning ?? 0) : completion,
  }
  if (cached !== undefined) usage.cached = cached
  if (cacheWrite !== undefined) usage.cacheWrite = cacheWrite
  if (reasoning !== undefined) usage.reasoning = reasoning
  return terms === undefined ? usage : Object.assign(usage, terms)
}

/** The provider has searched for the reply: it names the pages in place of a count. */
export function citesPages({ annotations }: JsonObject): boolean {
  return asObjects(annotations).some(({ type }) => type === 'url_citation')
}

/** Calls of tools that ran at the provider: of OpenRouter, xAI and Mistral. */
function toolUseOf(usage: JsonObject): readonly unknown[] {
  return [usage.server_tool_use, usage.server_side_tool_usage_details, usage.connectors]
}

/** OpenAI's field first, then the two of Mistral, DeepSeek's, and that of Moonshot and Together. */
function cachedTokensOf(usage: JsonObject): number | undefined {
  return (
    asTokens(asObject(usage.prompt_tokens_details).cached_tokens) ??
    asTokens(asObject(usage.prompt_token_details).cached_tokens) ??
    asTokens(usage.num_cached_tokens) ??
    asTokens(usage.prompt_cache_hit_tokens) ??
    asTokens(usage.cached_tokens)
  )
}
