import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'

/** Keywords that hold a schema or a list of schemas, and those that hold schemas by name. */
const HOLDS_SCHEMAS = new Set(
  `items prefixItems additionalProperties anyOf oneOf allOf not if then else contains propertyNames`.split(
    ' ',
  ),
)
const HOLDS_NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

/** Rewrites every schema in a JSON schema, innermost first. Values such as those of `enum` are not schemas, and stay. */
export function mapSchema(schema: unknown, rewrite: (schema: JsonObject) => JsonObject): unknown {
  if (Array.isArray(schema)) return schema.map((each) => mapSchema(each, rewrite))
  if (!isJsonObject(schema)) return schema
  return rewrite(
    mapValues(schema, (value, keyword) => {
      if (HOLDS_SCHEMAS.has(keyword)) return mapSchema(value, rewrite)
      if (!HOLDS_NAMED.has(keyword) || !isJsonObject(value)) return value
      return mapValues(value, (named) => mapSchema(named, rewrite))
    }),
  )
}

function mapValues(object: JsonObject, change: (value: unknown, key: string) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]))
}

/** Gemini passes over `const`: a choice of one value says the same. */
export function replaceConst(schema: JsonObject): JsonObject {
  if (!('const' in schema)) return schema
  const { const: value, ...rest } = schema
  if (value === null) return { type: 'null', ...rest }
  return { ...(typeof value !== 'object' && { type: typeof value }), ...rest, enum: [value] }
}
