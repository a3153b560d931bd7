import type { JsonObject } from '../../core/contract/json.ts'

/** The body of `POST /v1/messages` as far as we write it; a test holds it to the SDK's `MessageCreateParams`. */
export interface MessagesBody {
  readonly model: string
  readonly max_tokens: number
  readonly system?: string | readonly TextBlock[] | undefined
  readonly messages: readonly Turn[]
  readonly tools?: readonly ToolOffer[] | undefined
  readonly tool_choice?: ToolChoice | undefined
  readonly thinking?: Thinking | undefined
  readonly output_config?: OutputConfig | undefined
  readonly temperature?: number | undefined
  readonly top_p?: number | undefined
  readonly stop_sequences?: readonly string[] | undefined
  readonly metadata?: { readonly user_id: string } | undefined
  readonly service_tier?: ServiceTier | undefined
  readonly cache_control?: CacheControl | undefined
  readonly stream?: true | undefined
}

export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: readonly Block[]
}

export type Block = TextBlock | ImageBlock | DocumentBlock | ToolUseBlock | ToolResultBlock

/** Asks the provider to cache the prompt up to here. */
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

export type ImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'

export interface ImageBlock extends Cacheable {
  readonly type: 'image'
  readonly source:
    | { readonly type: 'base64'; readonly media_type: ImageType; readonly data: string }
    | { readonly type: 'url'; readonly url: string }
}

export interface DocumentBlock extends Cacheable {
  readonly type: 'document'
  readonly title?: string | undefined
  readonly source:
    | { readonly type: 'base64'; readonly media_type: 'application/pdf'; readonly data: string }
    | { readonly type: 'text'; readonly media_type: 'text/plain'; readonly data: string }
}

export interface ToolUseBlock {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: JsonObject
}

export interface ToolResultBlock {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content: string | readonly (TextBlock | ImageBlock | DocumentBlock)[]
}

export interface ToolOffer extends Cacheable {
  readonly name: string
  readonly description?: string | undefined
  readonly input_schema: { readonly type: 'object' } & JsonObject
  readonly strict?: true | undefined
}

type ToolChoice =
  | { readonly type: 'none' }
  | { readonly type: 'auto' | 'any'; readonly disable_parallel_tool_use?: true | undefined }
  | {
      readonly type: 'tool'
      readonly name: string
      readonly disable_parallel_tool_use?: true | undefined
    }

export type Thinking =
  | { readonly type: 'disabled' | 'between_tools' }
  | { readonly type: 'adaptive'; readonly display: 'summarized' }
  | { readonly type: 'enabled'; readonly budget_tokens: number }

export type Effort = 'low' | 'medium' | 'high' | 'xhigh' | 'max'

interface OutputConfig {
  readonly effort?: Effort | undefined
  readonly format?: OutputFormat | undefined
}

export interface OutputFormat {
  readonly type: 'json_schema'
  readonly schema: JsonObject
}

type ServiceTier = 'auto' | 'standard_only'
