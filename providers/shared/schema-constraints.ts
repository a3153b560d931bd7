import type { ChatRequest } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { ParameterChange } from '../../core/contract/provider.ts'
import { asObject } from './fields.ts'

/** Keywords of JSON Schema that restrict values and that not every provider enforces. */
const CONSTRAINTS: ReadonlySet<string> = new Set(
  `pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems
  uniqueItems contains minProperties maxProperties patternProperties propertyNames dependentRequired
  dependentSchemas not if`.split(/\s+/),
)

/** Keywords whose value holds data or names chosen by the client, not schemas. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', 'required'])
const NAMED_SCHEMAS: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'],
])

/** Calls a function for a JSON Schema and for every schema in it. */
function visitSchemas(value: unknown, visit: (schema: JsonObject) => void): void {
  if (Array.isArray(value)) for (const each of value) visitSchemas(each, visit)
  if (!isJsonObject(value)) return
  visit(value)
  for (const [keyword, inner] of Object.entries(value)) {
    if (NAMED_SCHEMAS.has(keyword) && isJsonObject(inner))
      for (const named of Object.values(inner)) visitSchemas(named, visit)
    else if (!DATA_KEYWORDS.has(keyword)) visitSchemas(inner, visit)
  }
}

/** Converts a JSON Schema and every schema in it, innermost first. */
export function mapSchemas(value: unknown, convert: (schema: JsonObject) => JsonObject): unknown {
  if (Array.isArray(value)) return value.map((each) => mapSchemas(each, convert))
  if (!isJsonObject(value)) return value
  const mapEach = (inner: JsonObject, map: (value: unknown, key: string) => unknown) =>
    Object.fromEntries(Object.entries(inner).map(([key, each]) => [key, map(each, key)]))
  const mapped = mapEach(value, (inner, keyword) => {
    if (DATA_KEYWORDS.has(keyword)) return inner
    if (!NAMED_SCHEMAS.has(keyword) || !isJsonObject(inner)) return mapSchemas(inner, convert)
    return mapEach(inner, (named) => mapSchemas(named, convert))
  })
  return convert(mapped)
}

/** Returns the names of the constraints that a JSON Schema has anywhere, sorted. */
export function findConstraints(schema: unknown): readonly string[] {
  const found = new Set<string>()
  visitSchemas(schema, (each) => {
    // Every provider enforces that a list is not empty.
    for (const [keyword, value] of Object.entries(each))
      if (CONSTRAINTS.has(keyword) && !(keyword === 'minItems' && Number(value) <= 1)) found.add(keyword)
  })
  return [...found].sort()
}

/**
 * Returns a schema that OpenAI accepts as strict: every object requires all of its properties and allows no
 * others, and some keywords are missing. Objects that do not say whether they allow others are closed.
 * Undefined if the schema cannot be strict. https://platform.openai.com/docs/guides/structured-outputs
 */
export function toStrictSchema(schema: unknown): JsonObject | undefined {
  if (!isJsonObject(schema) || schema.type !== 'object') return undefined
  let isStrict = true
  let isClosed = true
  visitSchemas(schema, (each) => {
    const { additionalProperties: others = false, properties, required, $ref } = each
    const keywords = Object.keys(each)
    if (keywords.some((keyword) => NOT_STRICT.has(keyword))) isStrict = false
    if ($ref !== undefined && keywords.length > 1 && each !== schema) isStrict = false
    if (!isObjectSchema(each)) return
    if (each.additionalProperties === undefined) isClosed = false
    const names = new Set(Array.isArray(required) ? required : [])
    // An object without properties is a map, if it is not closed.
    const isMap = properties === undefined && each.additionalProperties === undefined
    if (others !== false || isMap || Object.keys(asObject(properties)).some((name) => !names.has(name)))
      isStrict = false
  })
  if (!isStrict) return undefined
  return isClosed ? schema : closeObjects(schema)
}

const NOT_STRICT: ReadonlySet<string> = new Set(
  `allOf oneOf not if then else dependentRequired dependentSchemas patternProperties uniqueItems
  default`.split(/\s+/),
)

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined
}

function closeObjects(schema: JsonObject): JsonObject {
  const closed = structuredClone(schema)
  visitSchemas(closed, (each: Record<string, unknown>) => {
    if (isObjectSchema(each)) each.additionalProperties = false
  })
  return closed
}

/** The change of a `json_schema` whose constraints a provider does not enforce; undefined if it has none. */
export function findWeakenedSchema(
  { response_format: format }: ChatRequest,
  provider: string,
  enforced: ReadonlySet<string>,
): ParameterChange | undefined {
  if (format?.type !== 'json_schema') return undefined
  const lost = findConstraints(asObject(format.json_schema).schema).filter((name) => !enforced.has(name))
  if (lost.length === 0) return undefined
  const to = `json_schema without ${lost.join(', ')}`
  return { param: 'response_format', from: 'json_schema', to, reason: `${provider} does not enforce these` }
}
