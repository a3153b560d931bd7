import type { ChatRequest, Tool } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { ApiLimits, ParameterChange } from '../../core/contract/provider.ts'
import { asObject, asString } from './fields.ts'
import { shortenName } from './fit-names.ts'
import { mergeRoot, needsMerge } from './merge-root.ts'
import { toStrictSchema } from './schema-constraints.ts'

/** APIs refuse an empty list, and a choice without tools. */
const WITHOUT_TOOLS: JsonObject = { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined }

/** The fields about tools that are sent with another value; undefined if there are none. */
export function fitTools(
  { tools, tool_choice, parallel_tool_calls }: ChatRequest,
  limits: ApiLimits,
  changed: ParameterChange[],
): Partial<ChatRequest> | undefined {
  if (tools == null || tools.length === 0) {
    const isAsked = tools !== undefined || tool_choice !== undefined || parallel_tool_calls !== undefined
    return isAsked ? WITHOUT_TOOLS : undefined
  }
  const fitted = tools.map((tool) => fitTool(tool, limits, changed))
  return fitted.every((tool, index) => tool === tools[index]) ? undefined : { tools: fitted }
}

function fitTool(tool: Tool, { refusedAtRoot, strictSchemas }: ApiLimits, changed: ParameterChange[]): Tool {
  const called = tool.function
  if (called === undefined || !isJsonObject(called.parameters)) return tool
  const { name, parameters, strict } = called
  const change = (from: string, to: string) =>
    changed.push({ param: 'tools', from: `${name} with ${from}`, to })
  let schema = parameters
  if (refusedAtRoot !== undefined && needsMerge(parameters, refusedAtRoot)) {
    const refused = refusedAtRoot.filter((keyword) => parameters[keyword] !== undefined)
    if (refused.length > 0)
      change(`${refused.join(', ')} at the root of its schema`, 'properties of one object')
    schema = mergeRoot(parameters, refusedAtRoot)
  }
  const closed = strictSchemas === true && strict === true ? toStrictSchema(schema) : schema
  const isWeakened = closed === undefined
  if (isWeakened) change('strict: true', 'strict: false')
  else schema = closed
  if (schema === parameters && !isWeakened) return tool
  return { ...tool, function: { ...called, parameters: schema, ...(isWeakened && { strict: false }) } }
}

/** The response format, if it is sent with another value. */
export function fitResponseFormat(
  { response_format: format }: ChatRequest,
  { schemaNames, strictSchemas }: ApiLimits,
  changed: ParameterChange[],
): Partial<ChatRequest> | undefined {
  if (format?.type !== 'json_schema') return undefined
  const json_schema = asObject(format.json_schema)
  const name = asString(json_schema.name)
  const isRenamed = schemaNames !== undefined && name !== '' && !schemaNames.pattern.test(name)
  const { schema } = json_schema
  const closed = strictSchemas === true && json_schema.strict === true ? toStrictSchema(schema) : schema
  const isWeakened = closed === undefined && schema !== undefined
  if (isWeakened) changed.push({ param: 'response_format', from: 'strict: true', to: 'strict: false' })
  if (!isRenamed && closed === schema) return undefined
  const fitted: JsonObject = {
    ...json_schema,
    ...(isRenamed && { name: shortenName(name, schemaNames) }),
    ...(closed !== undefined && { schema: closed }),
    ...(isWeakened && { strict: false }),
  }
  return { response_format: { ...format, json_schema: fitted } }
}
