import type { IncomingMessage } from 'node:http'
import type { FinishReason, JsonObject, Usage } from '../../core/contract/index.ts'

/** What a request asks, whatever the provider's format. */
export interface ModelRequest {
  readonly model: string
  /** The text of every message, in order. */
  readonly texts: readonly string[]
  /** The last user message. */
  readonly userText: string
  /** The tool results that end the conversation; empty when something else does. */
  readonly toolResults: readonly string[]
  /** The tools that may be called. */
  readonly tools: readonly ToolDefinition[]
  readonly toolChoice: 'auto' | 'none' | 'required'
  readonly mayCallInParallel: boolean
  readonly replyFormat: ReplyFormat
  /** Whether the answer shall come with its thoughts. */
  readonly wantsReasoning: boolean
  readonly maxTokens: number | undefined
  readonly stop: readonly string[]
}

export interface ToolDefinition {
  readonly name: string
  /** JSON schema of the arguments. */
  readonly schema: JsonObject
}

export type ReplyFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json' }
  | { readonly type: 'schema'; readonly schema: JsonObject }

/** What the sandbox says, whatever the provider's format. */
export interface ModelReply extends ReplyStamp {
  readonly model: string
  /** What was thought before; only where the question wants it. */
  readonly reasoning?: string
  /** Empty when tools are called, and when the answer is refused. */
  readonly text: string
  /** Why the answer is refused; `finish` is then `content_filter`. */
  readonly refusal?: string
  readonly toolCalls: readonly ModelToolCall[]
  readonly finish: FinishReason
  readonly usage: Usage
}

export interface ModelToolCall {
  readonly id: string
  readonly name: string
  /** The arguments, as JSON text. */
  readonly argumentsJson: string
}

/** What tells two answers apart; `created` in unix seconds. */
export interface ReplyStamp {
  readonly id: string
  readonly created: number
}

/**
 * The tools to call now, none for an answer in text. One is called when it has to be, or when the user asks for it:
 * by its name or with the word "tool". The word "parallel" makes two calls.
 */
export function chooseTools(question: ModelRequest): readonly ToolDefinition[] {
  const candidates = findCandidates(question)
  const [first, second = first] = candidates
  if (!first || !second) return []
  const wantsTwo = question.mayCallInParallel && /parallel/i.test(question.userText)
  return wantsTwo ? [first, second] : [first]
}

function findCandidates(question: ModelRequest): readonly ToolDefinition[] {
  switch (question.toolChoice) {
    case 'none':
      return []
    case 'required':
      return orderByMention(question)
    case 'auto':
      return asksForTool(question) ? orderByMention(question) : []
  }
}

function asksForTool({ tools, toolResults, userText }: ModelRequest): boolean {
  if (toolResults.length > 0) return false
  return /\btools?\b/i.test(userText) || tools.some(({ name }) => userText.includes(name))
}

/** The tools that the user names come first; otherwise they stay as listed. */
function orderByMention({ tools, userText }: ModelRequest): readonly ToolDefinition[] {
  const isMentioned = ({ name }: ToolDefinition) => userText.includes(name)
  return [...tools.filter(isMentioned), ...tools.filter((tool) => !isMentioned(tool))]
}

/** 32 MB. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024

interface Body {
  /** Empty when the body is over the limit: it is read to its end, for a client that listens only then, but not kept. */
  readonly text: string
  /** In bytes. */
  readonly size: number
}

/** Reads a request's body. Rejects when the client leaves before its end. */
export function readRequestBody(request: IncomingMessage): Promise<Body> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= MAX_BODY_BYTES) chunks.push(chunk)
      else chunks = []
    })
    request.once('end', () => resolve({ text: Buffer.concat(chunks).toString(), size }))
    request.once('error', reject)
  })
}
