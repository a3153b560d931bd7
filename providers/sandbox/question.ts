import type { FinishReason, JsonObject, Usage } from '../../core/contract/index.ts'

/** What a request asks, whatever the vendor's format. */
export interface Question {
  readonly model: string
  /** The text of every message, in order. */
  readonly texts: readonly string[]
  /** The last user message. */
  readonly userText: string
  /** The tool results that end the conversation; empty when something else does. */
  readonly toolResults: readonly string[]
  /** The tools that may be called. */
  readonly tools: readonly ToolOffer[]
  readonly toolChoice: 'auto' | 'none' | 'required'
  readonly mayCallInParallel: boolean
  readonly output: Output
  /** Whether the answer shall come with its thoughts. */
  readonly wantsReasoning: boolean
  readonly maxTokens: number | undefined
  readonly stop: readonly string[]
}

export interface ToolOffer {
  readonly name: string
  /** JSON schema of the arguments. */
  readonly schema: JsonObject
}

export type Output =
  | { readonly type: 'text' }
  | { readonly type: 'json' }
  | { readonly type: 'schema'; readonly schema: JsonObject }

/** What the sandbox says, whatever the vendor's format. */
export interface Answer extends Stamp {
  readonly model: string
  /** What was thought before; only where the question wants it. */
  readonly reasoning?: string
  /** Empty when tools are called, and when the answer is refused. */
  readonly text: string
  /** Why the answer is refused; `finish` is then `content_filter`. */
  readonly refusal?: string
  readonly toolCalls: readonly ToolRequest[]
  readonly finish: FinishReason
  readonly usage: Usage
}

export interface ToolRequest {
  readonly id: string
  readonly name: string
  /** The arguments, as JSON text. */
  readonly json: string
}

/** What tells two answers apart; `created` in unix seconds. */
export interface Stamp {
  readonly id: string
  readonly created: number
}
