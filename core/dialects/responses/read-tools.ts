import { GatewayError, isJsonObject, type JsonObject, type Tool } from '../../contract/index.ts'
import type { FlatTool, ResponsesBody } from './request.ts'

/** The functions on offer in chat's form: those of `allowed_tools`, where the choice is limited. 400 for a hosted tool. */
export function readTools(tools: readonly FlatTool[], choice: ResponsesBody['tool_choice']): readonly Tool[] {
  const offer = tools.map(readTool)
  const allowed = isJsonObject(choice) && choice.type === 'allowed_tools' ? readAllowed(choice) : undefined
  return allowed ? offer.filter((tool) => allowed.includes(tool.function?.name)) : offer
}

/** `tool_choice` in chat's form. The list of `allowed_tools` was followed in the offer already; its mode is what is left. */
export function readToolChoice(choice: ResponsesBody['tool_choice']): JsonObject {
  if (choice == null) return {}
  if (typeof choice === 'string') return { tool_choice: choice }
  switch (choice.type) {
    case 'function':
      return { tool_choice: { type: 'function', function: { name: choice.name } } }
    case 'allowed_tools':
      return { tool_choice: choice.mode ?? 'auto' }
    default:
      throw refuse('tool_choice', choice.type)
  }
}

function readTool({ type, name, description, parameters, strict }: FlatTool, place: number): Tool {
  if (type !== 'function' || typeof name !== 'string') throw refuse(`tools[${place}]`, type)
  return {
    type,
    function: {
      name,
      ...(description != null && { description }),
      ...(isJsonObject(parameters) && { parameters }),
      ...(strict != null && { strict }),
    },
  }
}

function readAllowed({ tools }: JsonObject): readonly unknown[] {
  return Array.isArray(tools) ? tools.filter(isJsonObject).map(({ name }) => name) : []
}

function refuse(param: string, type: unknown): GatewayError {
  const message = `${param} of type ${type} is not supported: only functions are. Hosted tools run at OpenAI alone.`
  return new GatewayError('unsupported_parameter', message, { param })
}
