import {
  type ChatRequest,
  isJsonObject,
  type JsonObject,
  type Message,
  type Model,
  type Operation,
  TokenIds,
} from '../contract/index.ts'

/** How to count tokens before a request is sent. See docs/decisions/limits.md, "What a request may use". */
export interface TokenMeasure {
  /** Bytes of text and JSON per token. */
  readonly bytesPerToken: number
  /** Tokens of an image. */
  readonly imageTokens: number
  /** Tokens of a file, audio or video. */
  readonly fileTokens: number
}

/** Never less than what a provider counts: a token has at least one byte. */
export const UPPER_BOUND: TokenMeasure = {
  bytesPerToken: 1,
  imageTokens: 50_000,
  fileTokens: Number.POSITIVE_INFINITY,
}

/** Close to what providers count, and rarely less. */
export const ESTIMATE: TokenMeasure = { bytesPerToken: 3, imageTokens: 1500, fileTokens: 5000 }

/** Tokens that providers add for each message, and for the whole request. */
const TOKENS_PER_MESSAGE = 8

/** For a model without a catalogue entry and a request without a limit. */
const UNKNOWN_MODEL = { context: 2_000_000, max_output: 16_384 }

/** Tokens that Anthropic's adapter may add to the limit of a request for thinking. */
const THINKING_TOKENS = 63_000

type ModelLimits = Pick<Model, 'context' | 'max_output'> & Partial<Pick<Model, 'quirks'>>

/**
 * Measures the prompt: messages, tools and all other fields that a model may see. Returns a function that
 * returns its tokens for a model, which are at most its context. A model that does not chat reads each
 * message by itself.
 */
export function measurePrompt(
  request: ChatRequest,
  measure: TokenMeasure,
  operation: Operation = 'chat',
): (model?: Pick<ModelLimits, 'context'>) => number {
  const { messages } = request
  let bytes = fieldBytes(request, 'messages')
  // What tools of the provider add to the prompt is not known before.
  let tokens = runsProviderTools(request) ? measure.fileTokens : TOKENS_PER_MESSAGE
  for (const message of messages) {
    const content = messageContent(message, measure)
    bytes += content.bytes
    tokens += content.mediaTokens + TOKENS_PER_MESSAGE
  }
  tokens += Math.ceil(bytes / measure.bytesPerToken)
  const count = operation === 'chat' ? 1 : messages.length
  return ({ context } = UNKNOWN_MODEL) => Math.min(tokens, context * count)
}

/** Returns the most tokens that the reply can have: the limit of the request, or else that of the model. */
export function maxReplyTokens(
  request: ChatRequest,
  model: ModelLimits = UNKNOWN_MODEL,
  operation: Operation = 'chat',
): number {
  // Vectors and scores are not made of tokens.
  if (operation !== 'chat') return 0
  const { max_completion_tokens, max_tokens, reasoning_effort } = request
  const limit = max_completion_tokens ?? max_tokens
  if (limit == null) return model.max_output
  const addsThinking = model.quirks?.thinking === 'budget' && reasoning_effort != null
  const most = limit + (addsThinking ? THINKING_TOKENS : 0)
  return model === UNKNOWN_MODEL ? most : Math.min(most, model.max_output)
}

function messageContent(message: Message, { imageTokens, fileTokens }: TokenMeasure) {
  const { content } = message
  let bytes = fieldBytes(message, 'content')
  let mediaTokens = 0
  if (!Array.isArray(content)) return { bytes: bytes + jsonBytes(content), mediaTokens }
  for (const part of content) {
    const extra = part.type === 'extra_content' ? part.extra_content?.anthropic : undefined
    if (extra !== undefined && !TEXT_BLOCKS.has(extra.type)) mediaTokens += fileTokens
    else if (part.token_ids instanceof TokenIds) mediaTokens += part.token_ids.length
    else if (part.type === 'image_url') mediaTokens += imageTokens
    else if (FILE_PARTS.has(part.type)) mediaTokens += fileTokens
    else bytes += jsonBytes(part)
  }
  return { bytes, mediaTokens }
}

/** Blocks of Anthropic's format that hold all of their content; others may refer to files. */
const TEXT_BLOCKS: ReadonlySet<unknown> = new Set([
  ...['text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'search_result'],
  ...['web_search_tool_result', 'web_fetch_tool_result'],
])

/** Whether the provider runs tools of its own, such as a web search, while it answers. */
function runsProviderTools({ tools, extra_content }: Partial<ChatRequest>): boolean {
  const fields = extra_content?.anthropic?.fields
  const hasServers = isJsonObject(fields) && (fields.mcp_servers != null || fields.container != null)
  return hasServers || (tools ?? []).some(({ type }) => type === 'extra_content')
}

const FILE_PARTS = new Set(['file', 'input_audio', 'video_url', 'document'])

/** Bytes of punctuation that JSON adds to a value. */
const PUNCTUATION_BYTES = 4

/** Returns the bytes of a value as JSON text, without escapes: models see the texts themselves. */
function jsonBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + PUNCTUATION_BYTES
  if (typeof value !== 'object' || value === null) return String(value).length + PUNCTUATION_BYTES
  if (!Array.isArray(value)) return fieldBytes(value)
  let bytes = PUNCTUATION_BYTES
  for (const item of value) bytes += jsonBytes(item)
  return bytes
}

/** The same for an object, without one of its fields. */
function fieldBytes(value: object, excluded?: string): number {
  let bytes = PUNCTUATION_BYTES
  // Cheaper than Object.entries, or than a copy without the field. Parsed JSON inherits no fields.
  for (const name in value)
    if (name !== excluded) bytes += name.length + jsonBytes((value as JsonObject)[name])
  return bytes
}
