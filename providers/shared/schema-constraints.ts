import type { ChatRequest } from '../../core/contract/chat.ts'
import { isJsonObject } from '../../core/contract/json.ts'
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

/** Returns the names of the constraints that a JSON Schema has anywhere, sorted. */
export function findConstraints(schema: unknown): readonly string[] {
  const found = new Set<string>()
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each)
    if (!isJsonObject(value)) return
    for (const [keyword, inner] of Object.entries(value)) {
      // Every provider enforces that a list is not empty.
      if (CONSTRAINTS.has(keyword) && !(keyword === 'minItems' && Number(inner) <= 1)) found.add(keyword)
      if (NAMED_SCHEMAS.has(keyword) && isJsonObject(inner)) Object.values(inner).forEach(visit)
      else if (!DATA_KEYWORDS.has(keyword)) visit(inner)
    }
  }
  visit(schema)
  return [...found].sort()
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
