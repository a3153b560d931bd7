import type { ChatToolCall, FunctionTool, NamedToolChoice } from '../chat-format/wire.ts'

/**
 * The fields of `POST /chat/completions` that are sent: those of OpenAI, `thinking` and `user_id`. A test
 * compares the common fields with OpenAI's SDK, which DeepSeek recommends to its users.
 */
export interface DeepSeekBody {
  readonly model: string
  readonly messages: readonly DeepSeekMessage[]
  readonly stream?: true | undefined
  readonly stream_options?: { readonly include_usage: true } | undefined
  readonly temperature?: number | undefined
  readonly top_p?: number | undefined
  readonly max_tokens?: number | undefined
  readonly stop?: string | readonly string[] | undefined
  readonly response_format?: DeepSeekResponseFormat | undefined
  readonly tools?: readonly FunctionTool[] | undefined
  readonly tool_choice?: 'auto' | 'none' | 'required' | NamedToolChoice | undefined
  readonly logprobs?: boolean | undefined
  readonly top_logprobs?: number | undefined
  readonly thinking?: { readonly type: 'enabled' | 'disabled' } | undefined
  readonly reasoning_effort?: DeepSeekEffort | undefined
  readonly user_id?: string | undefined
}

export type DeepSeekEffort = 'low' | 'high' | 'max'

export type DeepSeekResponseFormat =
  | { readonly type: 'text' | 'json_object' }
  | { readonly type: 'json_schema'; readonly json_schema: { readonly name: string } }

export type DeepSeekMessage =
  | { readonly role: 'system'; readonly content: string }
  | {
      readonly role: 'user'
      readonly content: string | readonly DeepSeekContentPart[]
      readonly name?: string
    }
  | {
      readonly role: 'assistant'
      readonly content: string
      readonly reasoning_content?: string
      readonly tool_calls?: readonly ChatToolCall[]
    }
  | { readonly role: 'tool'; readonly content: string; readonly tool_call_id: string }

export type DeepSeekContentPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image_url'
      readonly image_url: { readonly url: string; readonly detail?: 'auto' | 'low' | 'high' }
    }
  | {
      readonly type: 'file'
      readonly file: { readonly file_id?: string; readonly file_data?: string; readonly filename?: string }
    }
