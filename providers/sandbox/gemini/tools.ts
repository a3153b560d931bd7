import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import type { Question, ToolOffer } from '../question.ts'
import { Refusal } from '../refusal.ts'

/** The functions that are declared. Throws a `Refusal` (400) for a name that Gemini does not take. */
export function readTools(tools: unknown): readonly ToolOffer[] {
  if (!Array.isArray(tools)) return []
  const lists = tools.map((tool) => (isJsonObject(tool) ? tool.functionDeclarations : undefined))
  return lists.flatMap((list) => (Array.isArray(list) ? list.filter(isJsonObject).map(readDeclaration) : []))
}

function readDeclaration({ name, parametersJsonSchema: schema, parameters }: JsonObject): ToolOffer {
  if (typeof name !== 'string' || !/^[A-Za-z_][\w.:-]{0,127}$/.test(name)) {
    throw new Refusal(400, `Invalid function name: ${JSON.stringify(name)}.`)
  }
  if (schema !== undefined && parameters !== undefined) {
    throw new Refusal(400, 'parameters and parameters_json_schema exclude each other.')
  }
  return { name, schema: isJsonObject(schema) ? schema : {} }
}

/** Reads who decides about calls, and leaves the functions that may be called. */
export function readToolConfig(
  toolConfig: unknown,
  tools: readonly ToolOffer[],
): Pick<Question, 'tools' | 'toolChoice'> {
  const config = isJsonObject(toolConfig) ? toolConfig.functionCallingConfig : undefined
  const { mode = 'AUTO', allowedFunctionNames: names } = isJsonObject(config) ? config : {}
  if (names !== undefined && mode !== 'ANY' && mode !== 'VALIDATED') {
    throw new Refusal(400, 'allowed_function_names may be set in the modes ANY and VALIDATED only.')
  }
  const offered = Array.isArray(names) ? tools.filter(({ name }) => names.includes(name)) : tools
  switch (mode) {
    case 'AUTO':
    case 'VALIDATED':
      return { tools: offered, toolChoice: 'auto' }
    case 'NONE':
      return { tools: offered, toolChoice: 'none' }
    case 'ANY':
      if (offered.length > 0) return { tools: offered, toolChoice: 'required' }
      throw new Refusal(400, 'The mode ANY needs a function that is declared.')
    default:
      throw new Refusal(400, `Invalid value at 'tool_config.function_calling_config.mode': ${String(mode)}`)
  }
}
