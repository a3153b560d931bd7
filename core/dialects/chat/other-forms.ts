import { GatewayError, isJsonObject, type JsonObject } from '../../contract/index.ts'

/**
 * Converts tools and choices in the form of OpenAI's Responses API, which is flat, and in Anthropic's to that
 * of chat completions. Returns the same body if it has none. Throws 400 for the field `system`, which
 * providers would ignore: only messages have it.
 */
export function toChatForm(body: JsonObject): JsonObject {
  const { tools, tool_choice: choice, system } = body
  if (system !== undefined) {
    const message =
      'system is a field of POST /v1/messages. Send a message with the role "system", or use /v1/messages.'
    throw new GatewayError('unsupported_parameter', message, { param: 'system' })
  }
  const hasOtherTools = Array.isArray(tools) && tools.some(isOtherTool)
  const chosen = toChatChoice(choice)
  if (!hasOtherTools && chosen === choice) return body
  return { ...body, ...(hasOtherTools && { tools: tools.map(toChatTool) }), tool_choice: chosen }
}

/** A tool with its name at the top: of functions, and those of Anthropic, which need no type. */
function isOtherTool(tool: unknown): boolean {
  if (!isJsonObject(tool) || isJsonObject(tool.function) || typeof tool.name !== 'string') return false
  return tool.type === 'function' || isJsonObject(tool.input_schema)
}

function toChatTool(tool: unknown): unknown {
  if (!isOtherTool(tool) || !isJsonObject(tool)) return tool
  const { type: _, name, description, parameters, input_schema, strict, ...others } = tool
  const schema = parameters ?? input_schema
  return {
    ...others,
    type: 'function',
    function: {
      name,
      ...(description != null && { description }),
      ...(schema != null && { parameters: schema }),
      ...(strict != null && { strict }),
    },
  }
}

function toChatChoice(choice: unknown): unknown {
  if (!isJsonObject(choice) || choice.function !== undefined) return choice
  const { type, name } = choice
  switch (type) {
    case 'function':
    case 'tool':
      return typeof name === 'string' ? { type: 'function', function: { name } } : choice
    case 'any':
      return 'required'
    case 'auto':
    case 'none':
      return type
    default:
      return choice
  }
}
