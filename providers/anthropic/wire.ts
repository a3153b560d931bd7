import type { JsonObject } from '../../core/contract/json.ts'

/**
 * The fields of `POST /v1/messages` that are sent; a test compares them with the SDK's `MessageCreateParams`.
 */
export interface AnthropicBody {
  readonly model: string
  readonly max_tokens: number
  readonly system?: string | readonly TextBlock[] | undefined
  readonly messages: readonly AnthropicMessage[]
  readonly tools?: readonly AnthropicTool[] | undefined
  readonly tool_choice?: AnthropicToolChoice | undefined
  readonly thinking?: AnthropicThinking | undefined
  readonly output_config?: OutputConfig | undefined
  readonly temperature?: number | undefined
  readonly top_p?: number | undefined
  readonly top_k?: number | undefined
  readonly stop_sequences?: readonly string[] | undefined
  readonly metadata?: { readonly user_id: string } | undefined
  readonly service_tier?: AnthropicServiceTier | undefined
  readonly cache_control?: CacheControl | undefined
  readonly stream?: true | undefined
}

export interface AnthropicMessage {
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: readonly ContentBlock[]
}

export type ContentBlock = TextBlock | ImageBlock | DocumentBlock | ToolUseBlock | ToolResultBlock

/** Requests caching of the prompt up to the block or tool that holds it. */
export interface CacheControl {
  readonly type: 'ephemeral'
  readonly ttl?: '5m' | '1h'
}

interface Cacheable {
  readonly cache_control?: CacheControl | undefined
}

export interface TextBlock extends Cacheable {
  readonly type: 'text'
  readonly text: string
}

export type ImageMediaType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'

export interface ImageBlock extends Cacheable {
  readonly type: 'image'
  readonly source:
    | { readonly type: 'base64'; readonly media_type: ImageMediaType; readonly data: string }
    | { readonly type: 'url'; readonly url: string }
}

export interface DocumentBlock extends Cacheable {
  readonly type: 'document'
  readonly title?: string | undefined
  readonly source:
    | { readonly type: 'base64'; readonly media_type: 'application/pdf'; readonly data: string }
    | { readonly type: 'text'; readonly media_type: 'text/plain'; readonly data: string }
    | { readonly type: 'url'; readonly url: string }
}

export interface ToolUseBlock extends Cacheable {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: JsonObject
}

export interface ToolResultBlock extends Cacheable {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content: string | readonly (TextBlock | ImageBlock | DocumentBlock)[]
}

export interface AnthropicTool extends Cacheable {
  readonly name: string
  readonly description?: string | undefined
  readonly input_schema: { readonly type: 'object' } & JsonObject
  readonly strict?: true | undefined
}

type AnthropicToolChoice =
  | { readonly type: 'none' }
  | { readonly type: 'auto' | 'any'; readonly disable_parallel_tool_use?: true | undefined }
  | {
      readonly type: 'tool'
      readonly name: string
      readonly disable_parallel_tool_use?: true | undefined
    }

export type AnthropicThinking =
  | { readonly type: 'disabled' | 'between_tools' }
  | { readonly type: 'adaptive'; readonly display: 'summarized' }
  | { readonly type: 'enabled'; readonly budget_tokens: number }

export type AnthropicEffort = 'low' | 'medium' | 'high' | 'xhigh' | 'max'

interface OutputConfig {
  readonly effort?: AnthropicEffort | undefined
  readonly format?: OutputFormat | undefined
}

export interface OutputFormat {
  readonly type: 'json_schema'
  readonly schema: JsonObject
}

type AnthropicServiceTier = 'auto' | 'standard_only'
