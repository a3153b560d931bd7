import type { JsonObject } from './json.ts'

/**
 * The canonical request: OpenAI's chat-completions body. Every dialect reads into it and every provider writes from it.
 * Fields that are not named here are kept, so a vendor of the same format receives them untouched.
 */
export interface ChatRequest extends JsonObject {
  readonly model?: string
  readonly messages: readonly Message[]
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean } & JsonObject
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
  readonly stop?: string | readonly string[] | null
  readonly presence_penalty?: number | null
  readonly frequency_penalty?: number | null
  readonly user?: string
  readonly metadata?: JsonObject | null
  readonly tools?: readonly Tool[]
  readonly tool_choice?: string | JsonObject
  readonly response_format?: { readonly type: string } & JsonObject
  readonly logit_bias?: JsonObject | null
  readonly seed?: number | null
  readonly parallel_tool_calls?: boolean | null
  readonly reasoning_effort?: string | null
}

export interface Message extends JsonObject {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function'
  readonly content?: string | readonly ContentPart[] | null
  readonly tool_calls?: readonly ToolCall[]
  readonly tool_call_id?: string
  /** Thoughts of an earlier answer, given back by the client. */
  readonly reasoning_content?: string | null
}

/** A part of a message: `{type:"text", text}`, or an image, audio or file part. */
export interface ContentPart extends JsonObject {
  readonly type: string
  readonly text?: string
}

export interface ToolCall extends JsonObject {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string } & JsonObject
  /** What the vendor gave with the call and wants back (`ToolStart`). */
  readonly extra_content?: JsonObject
}

export interface Tool extends JsonObject {
  readonly type: string
  readonly function?: { readonly name: string; readonly parameters?: JsonObject } & JsonObject
}
