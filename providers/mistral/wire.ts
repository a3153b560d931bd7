import type { ChatToolCall } from '../chat-format/wire.ts'

/** The messages that are sent; a test compares them with those of Mistral's SDK. */
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
