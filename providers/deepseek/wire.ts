import type { ChatToolCall } from '../chat-format/wire.ts'

/** The messages that are sent; a test compares them with those of OpenAI's SDK, which DeepSeek recommends. */
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
