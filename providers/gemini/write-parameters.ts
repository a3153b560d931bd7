import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { mapSchema, replaceConst } from './map-schema.ts'

/** The JSON schema of a function's arguments; undefined for a function without any, whose schema is to be left out. */
export function writeParameters(schema: unknown): unknown {
  return isJsonObject(schema) && !isEmpty(schema) ? mapSchema(schema, replaceConst) : undefined
}

const SAYS_NOTHING = new Set(['$schema', 'type', 'properties', 'required', 'title', 'description'])

function isEmpty(schema: JsonObject): boolean {
  const { properties, additionalProperties = false, ...rest } = schema
  const hasProperties = isJsonObject(properties) && Object.keys(properties).length > 0
  const isClosed = additionalProperties === false
  return !hasProperties && isClosed && Object.keys(rest).every((keyword) => SAYS_NOTHING.has(keyword))
}
