import { isJsonObject, type JsonObject } from '../../contract/index.ts'
import type { ResponseForm } from '../../events/responses.ts'

/** A response, which is made in OpenAI's form, in the form that a caller reads (interface: "Response object"). */
export function shapeResponse(response: JsonObject, form: ResponseForm): JsonObject {
  if (form === 'openai' || !Array.isArray(response.output)) return response
  const { reasoning } = response
  const wantsThoughts = isJsonObject(reasoning) && reasoning.summary !== null
  const items: JsonObject[] = response.output
  return {
    ...response,
    output: items.filter(({ type }) => wantsThoughts || type !== 'reasoning').map(shapeItem),
  }
}

function shapeItem(item: JsonObject): JsonObject {
  return Array.isArray(item.content) ? { ...item, content: item.content.map(shapePart) } : item
}

function shapePart(part: JsonObject): JsonObject {
  return part.type === 'output_text' ? { type: 'text', text: part.text } : part
}
