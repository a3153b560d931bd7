import type { ToolCall } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { parseJsonObject } from '../../core/util/json.ts'

/**
 * The arguments of an earlier call as an object. A model that was cut off leaves text that is not JSON, and
 * clients send it back with every later turn: it is carried as `invalid_arguments`, as the rules inspected
 * it, because most providers reject a whole request for it.
 */
export function toCallArguments({ function: called }: ToolCall): JsonObject {
  const { arguments: json } = called
  return (/\S/.test(json) ? parseJsonObject(json) : {}) ?? { invalid_arguments: json }
}

/** The arguments of an earlier call as JSON text: unchanged if they are an object, as `toCallArguments`. */
export function toHistoryArguments(call: ToolCall): string {
  const { arguments: json } = call.function
  return parseJsonObject(json) === undefined ? JSON.stringify(toCallArguments(call)) : json
}
