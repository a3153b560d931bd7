import type { ChatRequest, Message, Tool, ToolCall } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { toCallArguments } from '../shared/call-arguments.ts'
import { asObject, asString } from '../shared/fields.ts'
import { TOOL_ERROR } from '../shared/plain-request.ts'
import { invalidValueError } from '../shared/request-errors.ts'
import { mapSchemas } from '../shared/schema-constraints.ts'
import { replaceConst } from './response-format.ts'
import type {
  FunctionCallingConfig,
  FunctionCallPart,
  FunctionDeclaration,
  FunctionResponsePart,
  GeminiBody,
  GeminiFamily,
} from './wire.ts'

/**
 * The functions that may be called, and the calling mode:
 * https://ai.google.dev/gemini-api/docs/function-calling
 */
export function toGeminiTools(
  { tools, tool_choice: choice }: ChatRequest,
  family: GeminiFamily,
): Pick<GeminiBody, 'tools' | 'toolConfig'> {
  if (tools == null || tools.length === 0) return {}
  const isStrict = family === 'gemini' && tools.some((tool) => tool.function?.strict === true)
  const functionCallingConfig = toCallingConfig(choice, isStrict)
  return {
    tools: [{ functionDeclarations: tools.map(toFunctionDeclaration) }],
    ...(functionCallingConfig && { toolConfig: { functionCallingConfig } }),
  }
}

function toFunctionDeclaration(tool: Tool, index: number): FunctionDeclaration {
  if (tool.function === undefined) {
    const message = `tools[${index}] must be a function; gemini supports no other tools.`
    throw new GatewayError('unsupported_parameter', message, { param: 'tools' })
  }
  const { name, description, parameters } = tool.function
  const schema = toParametersSchema(parameters)
  return {
    name,
    ...(typeof description === 'string' && { description }),
    ...(schema !== undefined && { parametersJsonSchema: schema }),
  }
}

/** The JSON schema of a function's arguments. Functions without arguments must not have one. */
function toParametersSchema(schema: unknown): unknown {
  return isJsonObject(schema) && !isEmptySchema(schema) ? mapSchemas(schema, replaceConst) : undefined
}

function isEmptySchema(schema: JsonObject): boolean {
  const { properties, additionalProperties = false, ...rest } = schema
  const hasProperties = isJsonObject(properties) && Object.keys(properties).length > 0
  const isClosed = additionalProperties === false
  return !hasProperties && isClosed && Object.keys(rest).every((keyword) => NO_CONSTRAINT.has(keyword))
}

/** Keywords that say nothing about the arguments of a function without properties. */
const NO_CONSTRAINT = new Set(['$schema', 'type', 'properties', 'required', 'title', 'description'])

function toCallingConfig(choice: unknown, isStrict: boolean): FunctionCallingConfig | undefined {
  switch (choice ?? 'auto') {
    case 'auto':
      return isStrict ? { mode: 'VALIDATED' } : undefined
    case 'none':
      return { mode: 'NONE' }
    case 'required':
      return { mode: 'ANY' }
    default:
      if (!isJsonObject(choice)) throw toolChoiceError()
      return toRestrictedConfig(choice)
  }
}

/**
 * `choice` is `{type:"function", function:{name}}`, or `{type:"allowed_tools", allowed_tools:{mode, tools}}`.
 */
function toRestrictedConfig(choice: JsonObject): FunctionCallingConfig {
  const { allowed_tools: allowed } = choice
  if (!isJsonObject(allowed)) return { mode: 'ANY', allowedFunctionNames: [parseFunctionName(choice)] }
  if (!Array.isArray(allowed.tools)) throw toolChoiceError()
  // Names can be combined with the modes ANY and VALIDATED only.
  const mode = allowed.mode === 'required' ? 'ANY' : 'VALIDATED'
  return { mode, allowedFunctionNames: allowed.tools.map(parseFunctionName) }
}

function parseFunctionName(value: unknown): string {
  const name = isJsonObject(value) && isJsonObject(value.function) ? value.function.name : undefined
  if (typeof name !== 'string') throw toolChoiceError()
  return name
}

function toolChoiceError(): GatewayError {
  return invalidValueError('tool_choice', 'must be "auto", "none", "required" or name a function.')
}

/** A part of the tool results of one turn. `position` is that of the call. */
interface ToolResult {
  readonly part: FunctionResponsePart
  readonly position: number
}

/** Replaces a lost thought signature: https://ai.google.dev/gemini-api/docs/thought-signatures */
const NO_SIGNATURE = 'skip_thought_signature_validator'

/**
 * Converts the tool calls and results of one conversation, whose messages must be passed in order: a result
 * needs the name of the function, which only the call holds, and the results must be in the order of their
 * calls. From Gemini 3 on, calls have ids, and the first call of a message needs a thought signature.
 */
export function createToolCallConverter(family: GeminiFamily) {
  const hasIds = family === 'gemini'
  const calls = new Map<string, { readonly name: string; readonly position: number }>()
  let count = 0

  function toFunctionCallParts({ tool_calls }: Message, path: string): readonly FunctionCallPart[] {
    return (tool_calls ?? []).map((call, index) => {
      const { id } = call
      const { name } = call.function
      calls.set(id, { name, position: count++ })
      const thoughtSignature = signatureOf(call) ?? (hasIds && index === 0 ? NO_SIGNATURE : undefined)
      return {
        functionCall: {
          ...(hasIds && { id }),
          name,
          args: toCallArguments(call, `${path}.tool_calls[${index}]`),
        },
        ...(thoughtSignature && { thoughtSignature }),
      }
    })
  }

  /** `text` is the content of the tool message. Throws a `GatewayError` if its `tool_call_id` is unknown. */
  function toToolResult({ tool_call_id }: Message, text: string, path: string): ToolResult {
    const id = asString(tool_call_id)
    const call = calls.get(id)
    if (!call) {
      throw invalidValueError(
        `${path}.tool_call_id`,
        `must be the id of an earlier tool call, not "${id}".`,
        id,
      )
    }
    // Gemini accepts objects only.
    const response = text.startsWith(TOOL_ERROR)
      ? { error: text.slice(TOOL_ERROR.length) }
      : (parseJsonObject(text) ?? { output: text })
    const functionResponse = { ...(hasIds && { id }), name: call.name, response }
    return { part: { functionResponse }, position: call.position }
  }

  return { toFunctionCallParts, toToolResult }
}

/**
 * The `extra_content` with which a tool call carries its thought signature to the client and back. Google's
 * own OpenAI-compatible endpoint uses the same format.
 */
export function toSignatureContent(signature: string): JsonObject {
  return { google: { thought_signature: signature } }
}

function signatureOf({ extra_content }: ToolCall): string | undefined {
  const { google } = asObject(extra_content)
  return asString(asObject(google).thought_signature) || undefined
}
