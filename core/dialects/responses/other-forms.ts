import { isJsonObject, type JsonObject } from '../../contract/index.ts'

/**
 * Converts the forms of other clients to those of OpenAI's Responses API: tools, choices and schemas that are
 * nested as in chat completions, and the items and parts of TokenRouter's SDK. Returns the same body if it
 * has none. Nothing is validated here.
 */
export function toOpenAiForm(body: JsonObject): JsonObject {
  const { tools, tool_choice, text, input } = body
  const format = isJsonObject(text) ? text.format : undefined
  return withChanges(body, {
    tools: mapList(tools, toFlatFunction),
    tool_choice: toFlatFunction(tool_choice),
    text: isJsonObject(text) ? withChanges(text, { format: toFlatFormat(format) }) : text,
    input: mapList(input, toOpenAiItem),
  })
}

/** Returns the same object if all fields have the same values. */
function withChanges(object: JsonObject, fields: JsonObject): JsonObject {
  const changed = Object.keys(fields).filter((name) => fields[name] !== object[name])
  return changed.length === 0
    ? object
    : { ...object, ...Object.fromEntries(changed.map((name) => [name, fields[name]])) }
}

/** Returns the same value if it is not a list, or if no element changes. */
function mapList(list: unknown, convert: (element: unknown) => unknown): unknown {
  if (!Array.isArray(list)) return list
  const converted = list.map(convert)
  return converted.some((element, index) => element !== list[index]) ? converted : list
}

/** `{type: "function", function: {name, …}}` is the form of chat completions. */
function toFlatFunction(tool: unknown): unknown {
  if (!isJsonObject(tool) || tool.type !== 'function') return tool
  const { function: nested, ...fields } = tool
  return isJsonObject(nested) && fields.name === undefined ? { ...fields, ...nested } : tool
}

/** Chat completions nest name and schema in `json_schema`. TokenRouter's SDK takes the schema itself, too. */
function toFlatFormat(format: unknown): unknown {
  if (!isJsonObject(format) || format.type !== 'json_schema') return format
  const { json_schema: nested, ...fields } = format
  if (!isJsonObject(nested) || fields.schema !== undefined) return format
  return isJsonObject(nested.schema)
    ? { name: 'response', ...fields, ...nested }
    : { name: 'response', ...fields, schema: nested }
}

function toOpenAiItem(item: unknown): unknown {
  if (!isJsonObject(item)) return item
  if (item.type === 'tool_result' || item.type === 'function_result') return toCallOutput(item)
  const content = mapList(item.content, toOpenAiPart)
  return content === item.content ? item : { ...item, content }
}

/** The result is in `output`, or in `content` as in messages. */
function toCallOutput({
  type: _,
  tool_call_id,
  call_id,
  output,
  content,
  ...fields
}: JsonObject): JsonObject {
  const result = output ?? mapList(content, toOpenAiPart)
  return { ...fields, type: 'function_call_output', call_id: call_id ?? tool_call_id, output: result }
}

function toOpenAiPart(part: unknown): unknown {
  if (!isJsonObject(part)) return part
  if (part.type === 'input_image' && isJsonObject(part.image_url)) {
    const { url, detail } = part.image_url
    return { ...part, image_url: url, ...(detail != null && { detail }) }
  }
  if (part.type === 'input_audio' && part.input_audio === undefined && part.audio !== undefined) {
    const { audio, ...fields } = part
    return { ...fields, input_audio: audio }
  }
  return part
}
