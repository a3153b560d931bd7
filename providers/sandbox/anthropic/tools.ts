import type { JsonObject } from '../../../core/contract/index.ts'
import { isJsonObject } from '../../../core/contract/index.ts'
import { readObject, readObjects, readString } from '../../read-fields.ts'
import type { Question, ToolOffer } from '../question.ts'
import { Refusal } from '../refusal.ts'

/** The tools of a request. Throws a `Refusal` (400) for one whose input is no object. */
export function readTools(tools: unknown): readonly ToolOffer[] {
  return readObjects(tools).map(readTool)
}

function readTool({ name, input_schema }: JsonObject, index: number): ToolOffer {
  if (isJsonObject(input_schema) && input_schema.type === 'object') {
    return { name: readString(name), schema: input_schema }
  }
  throw new Refusal(400, `tools.${index}.custom.input_schema.type: Input should be 'object'`)
}

/** Reads `tool_choice`, and leaves the tools that it allows. Throws a `Refusal` (400) for one that is not offered. */
export function readToolChoice(
  choice: unknown,
  tools: readonly ToolOffer[],
): Pick<Question, 'tools' | 'toolChoice'> {
  const { type = 'auto', name } = readObject(choice)
  if (choice !== undefined && tools.length === 0) {
    throw new Refusal(400, 'tool_choice: may only be specified while providing tools')
  }
  switch (type) {
    case 'auto':
    case 'none':
      return { tools, toolChoice: type }
    case 'any':
      return { tools, toolChoice: 'required' }
    case 'tool':
      return { tools: [findTool(name, tools)], toolChoice: 'required' }
    default:
      throw new Refusal(400, `tool_choice: Input tag '${type}' found using 'type' does not match`)
  }
}

function findTool(name: unknown, tools: readonly ToolOffer[]): ToolOffer {
  const tool = tools.find((each) => each.name === name)
  if (tool) return tool
  throw new Refusal(400, `tool_choice: Tool '${name}' not found in provided tools`)
}
