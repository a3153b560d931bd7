import type { ChatRequest, Tool, ToolCall } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { readString } from '../read-fields.ts'

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

/** The functions on offer; undefined when there are none, for strict vendors refuse an empty list. */
export function toChatTools(tools: ChatRequest['tools']): readonly FunctionTool[] | undefined {
  return tools == null || tools.length === 0 ? undefined : tools.map(writeTool)
}

/** Vendors that want a schema get one that takes no arguments. */
const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} }

function writeTool({ type, function: given }: Tool): FunctionTool {
  if (type !== 'function' || given === undefined) {
    const message = `Tools of type ${type} are not supported by this provider. Use functions.`
    throw new GatewayError('unsupported_parameter', message, { param: 'tools' })
  }
  const { name, description, parameters, strict } = given
  return {
    type: 'function',
    function: {
      name,
      ...(typeof description === 'string' && { description }),
      parameters: parameters ?? NO_PARAMETERS,
      ...(typeof strict === 'boolean' && { strict }),
    },
  }
}

/** The function that must be called. */
export interface NamedChoice {
  readonly type: 'function'
  readonly function: { readonly name: string }
}

/** Reads `{type:"function", function:{name}}`. */
export function parseNamedChoice(choice: ChatRequest['tool_choice']): NamedChoice | undefined {
  const named = isJsonObject(choice) && isJsonObject(choice.function) ? readString(choice.function.name) : ''
  return named === '' ? undefined : { type: 'function', function: { name: named } }
}

/** A call that the model made earlier. */
export interface EarlierCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** A call of the history under the given id, with nothing but what every vendor knows. */
export function toChatToolCall({ function: called }: ToolCall, id: string): EarlierCall {
  return { id, type: 'function', function: { name: called.name, arguments: called.arguments } }
}
