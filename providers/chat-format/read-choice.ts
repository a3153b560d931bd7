import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { FinishReason } from '../../core/contract/reply.ts'

/** The first choice of a completion or chunk; further ones (`n` > 1) travel in the native record only. */
export function readChoice(completion: JsonObject): JsonObject | undefined {
  if (!Array.isArray(completion.choices)) return undefined
  for (const choice of completion.choices)
    if (isJsonObject(choice) && (choice.index ?? 0) === 0) return choice
  return undefined
}

/**
 * Undefined until the model has finished. A reason that we do not know counts as `stop`; one that says that the vendor
 * broke off is thrown as a `GatewayError`.
 */
export function readFinishReason(value: unknown): FinishReason | undefined {
  switch (value) {
    case undefined:
    case null:
      return undefined
    case 'length':
    case 'tool_calls':
    case 'content_filter':
      return value
    case 'function_call':
      return 'tool_calls'
    case 'model_length': // Mistral: the context is full.
      return 'length'
    case 'error': // Mistral
    case 'insufficient_system_resource': // DeepSeek
      throw new GatewayError('provider_error', `The provider broke its reply off (${value}).`)
    default:
      return 'stop'
  }
}
