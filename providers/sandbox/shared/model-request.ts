import type { JsonObject } from '../../../core/contract/index.ts'

/** A chat request, independent of the provider's wire format. */
export interface ModelRequest {
  readonly model: string
  /** The text of every message, in order. */
  readonly texts: readonly string[]
  /** The text of the last user message. */
  readonly userText: string
  /** The number of replies after the last user message. */
  readonly repliesSinceUser: number
  /** The tool results at the end of the conversation; empty when it ends with another message. */
  readonly toolResults: readonly string[]
  /** The tools that the model may call. */
  readonly tools: readonly ToolDefinition[]
  readonly toolChoice: 'auto' | 'none' | 'required'
  readonly mayCallInParallel: boolean
  readonly replyFormat: ReplyFormat
  /** Whether the reply includes reasoning. */
  readonly wantsReasoning: boolean
  /** Undefined means no limit. */
  readonly maxTokens: number | undefined
  readonly stop: readonly string[]
}

export interface ToolDefinition {
  readonly name: string
  /** JSON Schema of the arguments. */
  readonly schema: JsonObject
}

export type ReplyFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json' }
  | { readonly type: 'schema'; readonly schema: JsonObject }
