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
const NAMED_SCHEMAS: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions'])

/** Calls a function for a JSON Schema and for every schema in it. */
export function visitSchemas(value: unknown, visit: (schema: JsonObject) => void): void {
  if (Array.isArray(value)) for (const each of value) visitSchemas(each, visit)
  if (!isJsonObject(value)) return
  visit(value)
  for (const [keyword, inner] of Object.entries(value)) {
    if (NAMED_SCHEMAS.has(keyword) && isJsonObject(inner))
      for (const named of Object.values(inner)) visitSchemas(named, visit)
    else if (!DATA_KEYWORDS.has(keyword)) visitSchemas(inner, visit)
  }
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
 * Whether OpenAI accepts a schema as strict: every object requires all of its properties and allows no
 * others, and some keywords are missing. https://platform.openai.com/docs/guides/structured-outputs
 */
export function isStrictSchema(schema: unknown): boolean {
  let isStrict = isJsonObject(schema) && schema.type === 'object'
  visitSchemas(schema, (each) => {
    if (!isStrictObject(each) || Object.keys(each).some((keyword) => NOT_STRICT.has(keyword)))
      isStrict = false
  })
  return isStrict
}

const NOT_STRICT: ReadonlySet<string> = new Set(
  `allOf oneOf not if then else dependentRequired dependentSchemas patternProperties uniqueItems
  default`.split(/\s+/),
)

function isStrictObject({ type, properties, required, additionalProperties }: JsonObject): boolean {
  const isObject = type === 'object' || (Array.isArray(type) && type.includes('object'))
  if (!isObject && properties === undefined) return true
  const names = new Set(Array.isArray(required) ? required : [])
  return additionalProperties === false && Object.keys(asObject(properties)).every((name) => names.has(name))
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
