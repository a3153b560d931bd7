import type { ToolCall } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { invalidValueError } from './request-errors.ts'

/**
 * Parses the arguments of an earlier call, which may be blank. `path` is the location of the call for error
 * messages. A byte order mark or another space that JSON does not know is refused, because rules did not
 * inspect such arguments as JSON.
 */
export function parseCallArguments(call: ToolCall, path: string): JsonObject {
  const { arguments: json } = call.function
  const parsed = /\S/.test(json) ? parseJsonObject(json) : {}
  if (parsed !== undefined) return parsed
  throw invalidValueError(`${path}.function.arguments`, 'must be a JSON object.')
}
