import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import type { Question, ToolOffer } from '../question.ts'
import { Refusal } from '../refusal.ts'

/** The functions of a request's `tools`. */
export function readTools(tools: unknown): readonly ToolOffer[] {
  return Array.isArray(tools) ? tools.map(readFunction).filter((tool) => tool !== undefined) : []
}

/** Reads `tool_choice`, and leaves the tools that it allows. Throws a `Refusal` (400) for one that is not offered. */
export function readToolChoice(
  choice: unknown,
  tools: readonly ToolOffer[],
): Pick<Question, 'tools' | 'toolChoice'> {
  if (choice === 'none') return { tools, toolChoice: 'none' }
  if (choice === 'required') return { tools: checkOffered(tools), toolChoice: 'required' }
  if (!isJsonObject(choice)) return { tools, toolChoice: 'auto' }
  if (isJsonObject(choice.allowed_tools)) return readAllowedTools(choice.allowed_tools, tools)
  const name = readName(choice)
  const offered = checkOffered(tools.filter((tool) => tool.name === name))
  return { tools: offered, toolChoice: 'required' }
}

function readAllowedTools({ mode, tools: allowed }: JsonObject, tools: readonly ToolOffer[]) {
  const names = Array.isArray(allowed) ? allowed.map(readName) : []
  return readToolChoice(
    mode,
    tools.filter(({ name }) => names.includes(name)),
  )
}

function readFunction(tool: unknown): ToolOffer | undefined {
  const name = readName(tool)
  if (name === undefined || !isJsonObject(tool) || !isJsonObject(tool.function)) return undefined
  const { parameters } = tool.function
  return { name, schema: isJsonObject(parameters) ? parameters : {} }
}

/** The name in `{type:"function", function:{name}}`. */
function readName(value: unknown): string | undefined {
  const name = isJsonObject(value) && isJsonObject(value.function) ? value.function.name : undefined
  return typeof name === 'string' ? name : undefined
}

function checkOffered(tools: readonly ToolOffer[]): readonly ToolOffer[] {
  if (tools.length > 0) return tools
  const param = 'tool_choice'
  throw new Refusal(400, `Invalid value for '${param}': 'tools' does not offer such a function.`, { param })
}
