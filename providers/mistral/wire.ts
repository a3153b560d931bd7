import type { JsonObject } from '../../core/contract/json.ts'
import type { EarlierCall, FunctionTool, NamedChoice } from '../chat-format/tools.ts'

/**
 * The body of `POST /v1/chat/completions` as far as we write it; a test holds it to the SDK's `ChatCompletionRequest`.
 * Mistral refuses every field that it does not know, in the body and in messages.
 */
export interface ChatBody {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly stream?: true | undefined
  readonly temperature?: number | undefined
  readonly top_p?: number | undefined
  readonly max_tokens?: number | undefined
  readonly stop?: string | readonly string[] | undefined
  readonly random_seed?: number | undefined
  readonly presence_penalty?: number | undefined
  readonly frequency_penalty?: number | undefined
  readonly response_format?: ResponseFormat | undefined
  readonly tools?: readonly FunctionTool[] | undefined
  readonly tool_choice?: ToolChoice | undefined
  readonly parallel_tool_calls?: boolean | undefined
  readonly reasoning_effort?: string | undefined
  readonly prompt_mode?: 'reasoning' | undefined
  readonly prediction?: { readonly type: 'content'; readonly content: string } | undefined
  readonly prompt_cache_key?: string | undefined
  readonly service_tier?: 'auto' | 'standard_only' | undefined
  readonly safe_prompt?: boolean | undefined
}

export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: Content }
  | AssistantMessage
  | {
      readonly role: 'tool'
      readonly content: Content
      readonly tool_call_id: string
      readonly name?: string
    }

export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: string
  readonly tool_calls?: readonly EarlierCall[]
  /** The answer goes on from this message. */
  readonly prefix?: true
}

export type Content = string | readonly ContentChunk[]

export type ContentChunk =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string; readonly detail?: string } }
  | { readonly type: 'input_audio'; readonly input_audio: string }
  | { readonly type: 'file'; readonly file_id: string }
  | { readonly type: 'document_url'; readonly document_url: string; readonly document_name?: string }

export type ToolChoice = 'auto' | 'none' | 'any' | NamedChoice

export interface ResponseFormat {
  readonly type: string
  readonly json_schema?: {
    readonly name: string
    readonly description?: string
    readonly schema: JsonObject
    readonly strict?: boolean
  }
}
