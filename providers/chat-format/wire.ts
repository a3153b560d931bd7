import type { JsonObject } from '../../core/contract/json.ts'
import type { ProviderRequest } from '../../core/contract/provider.ts'

/** A function that the model may call. */
export interface FunctionTool {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description?: string
    readonly parameters: JsonObject
    readonly strict?: boolean
  }
}

/** The `tool_choice` that forces a call of one function. */
export interface NamedToolChoice {
  readonly type: 'function'
  readonly function: { readonly name: string }
}

/** A tool call of an earlier reply. */
export interface ChatToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** The request headers that all providers of this format expect. */
export function buildChatHeaders(isStream: boolean): ProviderRequest['headers'] {
  return isStream ? STREAM_HEADERS : WHOLE_HEADERS
}

const WHOLE_HEADERS = Object.freeze({ 'content-type': 'application/json', accept: 'application/json' })
const STREAM_HEADERS = Object.freeze({ 'content-type': 'application/json', accept: 'text/event-stream' })

export function buildBearerAuth(apiKey: string): ProviderRequest['headers'] {
  return { authorization: `Bearer ${apiKey}` }
}
