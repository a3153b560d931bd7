import type { JsonObject } from '../../core/contract/json.ts'
import type { ChatToolCall, FunctionTool, NamedToolChoice } from '../chat-format/wire.ts'

/**
 * The fields of `POST /v1/chat/completions` that are sent; a test compares them with the
 * `ChatCompletionRequest` of Mistral's SDK. Mistral rejects unknown fields, in the body and in messages.
 */
export interface MistralBody {
  readonly model: string
  readonly messages: readonly MistralMessage[]
  readonly stream?: true | undefined
  readonly temperature?: number | undefined
  readonly top_p?: number | undefined
  readonly max_tokens?: number | undefined
  readonly stop?: string | readonly string[] | undefined
  readonly random_seed?: number | undefined
  readonly presence_penalty?: number | undefined
  readonly frequency_penalty?: number | undefined
  readonly response_format?: MistralResponseFormat | undefined
  readonly tools?: readonly FunctionTool[] | undefined
  readonly tool_choice?: MistralToolChoice | undefined
  readonly parallel_tool_calls?: boolean | undefined
  readonly reasoning_effort?: string | undefined
  readonly prompt_mode?: 'reasoning' | undefined
  readonly prediction?: { readonly type: 'content'; readonly content: string } | undefined
  readonly prompt_cache_key?: string | undefined
  readonly service_tier?: 'auto' | 'standard_only' | undefined
  readonly safe_prompt?: boolean | undefined
}

export type MistralMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: MistralContent }
  | MistralAssistantMessage
  | {
      readonly role: 'tool'
      readonly content: MistralContent
      readonly tool_call_id: string
      readonly name?: string
    }

export interface MistralAssistantMessage {
  readonly role: 'assistant'
  readonly content: string | readonly (MistralThinkingChunk | MistralTextChunk)[]
  readonly tool_calls?: readonly ChatToolCall[]
  /** The reply continues this message. */
  readonly prefix?: true
}

export type MistralContent = string | readonly MistralContentChunk[]

interface MistralTextChunk {
  readonly type: 'text'
  readonly text: string
}

interface MistralThinkingChunk {
  readonly type: 'thinking'
  readonly thinking: readonly MistralTextChunk[]
}

export type MistralContentChunk =
  | MistralTextChunk
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string; readonly detail?: string } }
  | { readonly type: 'input_audio'; readonly input_audio: string }
  | { readonly type: 'file'; readonly file_id: string }
  | { readonly type: 'document_url'; readonly document_url: string; readonly document_name?: string }

export type MistralToolChoice = 'auto' | 'none' | 'any' | NamedToolChoice

export interface MistralResponseFormat {
  readonly type: string
  readonly json_schema?: {
    readonly name: string
    readonly description?: string
    readonly schema: JsonObject
    readonly strict?: boolean
  }
}
