import type { EarlierCall, FunctionTool, NamedChoice } from '../chat-format/tools.ts'

/**
 * The body of `POST /chat/completions` as far as we write it: OpenAI's, with `thinking` and `user_id` beside it. A test
 * holds the rest to OpenAI's SDK, which DeepSeek tells its users to use.
 */
export interface ChatBody {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly stream?: true | undefined
  readonly stream_options?: { readonly include_usage: true } | undefined
  readonly temperature?: number | undefined
  readonly top_p?: number | undefined
  readonly max_tokens?: number | undefined
  readonly stop?: string | readonly string[] | undefined
  readonly response_format?: ResponseFormat | undefined
  readonly tools?: readonly FunctionTool[] | undefined
  readonly tool_choice?: 'auto' | 'none' | 'required' | NamedChoice | undefined
  readonly logprobs?: boolean | undefined
  readonly top_logprobs?: number | undefined
  readonly thinking?: { readonly type: 'enabled' | 'disabled' } | undefined
  readonly reasoning_effort?: Effort | undefined
  readonly user_id?: string | undefined
}

export type Effort = 'low' | 'high' | 'max'

export type ResponseFormat =
  | { readonly type: 'text' | 'json_object' }
  | { readonly type: 'json_schema'; readonly json_schema: { readonly name: string } }

export type ChatMessage =
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
      readonly tool_calls?: readonly EarlierCall[]
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
