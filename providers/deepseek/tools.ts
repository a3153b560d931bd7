import type { ChatRequest } from '../../core/contract/chat.ts'
import { toChatTools, toNamedToolChoice } from '../chat-format/tools.ts'
import type { FunctionTool } from '../chat-format/wire.ts'
import type { DeepSeekBody } from './wire.ts'

/** The tools of a request without `strict`; undefined if there are none. */
export function toDeepSeekTools(tools: ChatRequest['tools']): readonly FunctionTool[] | undefined {
  return toChatTools(tools)?.map(withoutStrict)
}

/**
 * Strict tools require the beta base URL, and all tools to be strict
 * (docs/providers.md, "DeepSeek requests").
 */
function withoutStrict({ function: { strict: _, ...rest } }: FunctionTool): FunctionTool {
  return { type: 'function', function: rest }
}

export function toDeepSeekToolChoice(choice: ChatRequest['tool_choice']): DeepSeekBody['tool_choice'] {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  return toNamedToolChoice(choice)
}
