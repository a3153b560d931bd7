import type { ChatRequest } from '../../core/contract/chat.ts'
import { toNamedToolChoice } from '../chat-format/tools.ts'
import type { MistralToolChoice } from './wire.ts'

export function toMistralToolChoice(choice: ChatRequest['tool_choice']): MistralToolChoice | undefined {
  switch (choice) {
    case 'auto':
    case 'none':
    case 'any':
      return choice
    case 'required':
      return 'any'
    default:
      return toNamedToolChoice(choice)
  }
}
