import type { ChatRequest, Tool } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { mapSchema, replaceConst } from './response-format.ts'
import type { Family, FunctionCallingConfig, FunctionDeclaration, GenerateBody } from './wire.ts'

/** The functions and the say on calling them: https://ai.google.dev/gemini-api/docs/function-calling */
export function writeTools(
  { tools, tool_choice: choice }: ChatRequest,
  family: Family,
): Pick<GenerateBody, 'tools' | 'toolConfig'> {
  if (tools == null || tools.length === 0) return {}
  const isStrict = family === 'gemini' && tools.some((tool) => tool.function?.strict === true)
  const functionCallingConfig = writeChoice(choice, isStrict)
  return {
    tools: [{ functionDeclarations: tools.map(writeDeclaration) }],
    ...(functionCallingConfig && { toolConfig: { functionCallingConfig } }),
  }
}

function writeDeclaration(tool: Tool, index: number): FunctionDeclaration {
  if (tool.function === undefined) {
    const message = `tools[${index}]: Gemini takes tools of type "function" only.`
    throw new GatewayError('unsupported_parameter', message, { param: 'tools' })
  }
  const { name, description, parameters } = tool.function
  const schema = writeParameters(parameters)
  return {
    name,
    ...(typeof description === 'string' && { description }),
    ...(schema !== undefined && { parametersJsonSchema: schema }),
  }
}

function writeChoice(choice: unknown, isStrict: boolean): FunctionCallingConfig | undefined {
  switch (choice ?? 'auto') {
    case 'auto':
      return isStrict ? { mode: 'VALIDATED' } : undefined
    case 'none':
      return { mode: 'NONE' }
    case 'required':
      return { mode: 'ANY' }
    default:
      return isJsonObject(choice) ? writeNamed(choice) : refuse()
  }
}

/** `{type:"function", function:{name}}`, or `{type:"allowed_tools", allowed_tools:{mode, tools}}`. */
function writeNamed(choice: JsonObject): FunctionCallingConfig {
  const { allowed_tools: allowed } = choice
  if (!isJsonObject(allowed)) return { mode: 'ANY', allowedFunctionNames: [readName(choice)] }
  if (!Array.isArray(allowed.tools)) return refuse()
  // Names restrict the modes ANY and VALIDATED only.
  const mode = allowed.mode === 'required' ? 'ANY' : 'VALIDATED'
  return { mode, allowedFunctionNames: allowed.tools.map(readName) }
}

function readName(value: unknown): string {
  const name = isJsonObject(value) && isJsonObject(value.function) ? value.function.name : undefined
  return typeof name === 'string' ? name : refuse()
}

function refuse(): never {
  const message = 'tool_choice must be "auto", "none", "required" or name a function.'
  throw new GatewayError('invalid_value', message, { param: 'tool_choice' })
}

/** The JSON schema of a function's arguments; undefined for a function without any, whose schema is to be left out. */
function writeParameters(schema: unknown): unknown {
  return isJsonObject(schema) && !isEmpty(schema) ? mapSchema(schema, replaceConst) : undefined
}

const SAYS_NOTHING = new Set(['$schema', 'type', 'properties', 'required', 'title', 'description'])

function isEmpty(schema: JsonObject): boolean {
  const { properties, additionalProperties = false, ...rest } = schema
  const hasProperties = isJsonObject(properties) && Object.keys(properties).length > 0
  const isClosed = additionalProperties === false
  return !hasProperties && isClosed && Object.keys(rest).every((keyword) => SAYS_NOTHING.has(keyword))
}
