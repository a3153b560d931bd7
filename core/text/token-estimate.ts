import {
  type ChatRequest,
  type ContentPart,
  type Message,
  type ReplyPart,
  TokenIds,
} from '../contract/index.ts'

// Estimates of tokens that no provider has counted (docs/usage.md, "Estimates").

/** See docs/decisions/cost.md, "Bytes, not characters, are the measure of estimates". */
const BYTES_PER_TOKEN = 4

/** What an image, audio or file part counts as: the size of its data says little about its tokens. */
const TOKENS_PER_MEDIA_PART = 1000

export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

/** Estimates the input tokens of a request: messages, tools, schema of the reply, and media. */
export function estimateRequestTokens({ messages, tools, response_format }: ChatRequest): number {
  let bytes = byteLengthOfJson(tools) + byteLengthOfJson(response_format)
  let mediaParts = 0
  let tokenIds = 0
  for (const message of messages) {
    bytes += byteLengthOfCalls(message)
    const { content } = message
    if (typeof content === 'string') bytes += Buffer.byteLength(content)
    else
      for (const part of content ?? []) {
        if (typeof part.text === 'string') bytes += Buffer.byteLength(part.text)
        else if (part.type === 'extra_content') bytes += byteLengthOfJson(part.extra_content)
        else if (part.token_ids instanceof TokenIds) tokenIds += part.token_ids.length
        else if (isMedia(part)) mediaParts++
      }
  }
  return estimateTokens(bytes) + tokenIds + mediaParts * TOKENS_PER_MEDIA_PART
}

/** Returns the UTF-8 bytes of what a model produced: text, reasoning, refusal and tool calls. */
export function byteLengthOfPart(part: ReplyPart): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      return Buffer.byteLength(part.text)
    case 'tool-start':
      return Buffer.byteLength(part.name)
    case 'tool-json':
      return Buffer.byteLength(part.json)
    default:
      return 0
  }
}

function byteLengthOfCalls({ reasoning_content, tool_calls }: Message): number {
  let bytes = reasoning_content ? Buffer.byteLength(reasoning_content) : 0
  for (const { function: called, custom } of tool_calls ?? []) {
    bytes += Buffer.byteLength(`${called?.name ?? ''}${called?.arguments ?? ''}`)
    if (custom !== undefined) bytes += byteLengthOfJson(custom)
  }
  return bytes
}

function isMedia({ type }: ContentPart): boolean {
  return type !== 'text' && type !== 'refusal'
}

function byteLengthOfJson(value: unknown): number {
  return value == null ? 0 : Buffer.byteLength(JSON.stringify(value))
}
