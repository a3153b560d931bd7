import type { ToolCall } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { toArgumentsText } from '../../core/dialects/check-request.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { invalidValueError } from './request-errors.ts'

/**
 * Parses the arguments of an earlier call. A model that was cut off leaves text that is not JSON, and clients
 * send it back with every later turn: it is carried as `invalid_arguments`, as the rules inspected it,
 * because most providers reject a whole request for it. `path` is the location of the call for error
 * messages. A byte order mark or another space around JSON that JSON does not know is refused, because rules
 * did not inspect such arguments as JSON.
 */
export function toCallArguments({ function: called }: ToolCall, path: string): JsonObject {
  const json = toArgumentsText(called.arguments)
  const parsed = parseJsonObject(json)
  if (parsed !== undefined) return parsed
  if (parseJsonObject(json.trim()) === undefined) return { invalid_arguments: json }
  throw invalidValueError(`${path}.function.arguments`, 'must be a JSON object.')
}

/** The arguments of an earlier call as JSON text: unchanged if they are an object, as `toCallArguments`. */
export function toHistoryArguments({ function: called }: ToolCall): string {
  const json = toArgumentsText(called.arguments)
  return parseJsonObject(json) === undefined ? JSON.stringify({ invalid_arguments: json }) : json
}
