import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'

/**
 * A JSON schema in the subset that Anthropic compiles: objects are closed, `oneOf` becomes `anyOf`, and what it cannot
 * enforce is told to the model in the description, as Anthropic's own SDK does (docs/providers.md, "Anthropic structured outputs").
 */
export function reduceSchema(schema: JsonObject): JsonObject {
  const reduced: Record<string, unknown> = {}
  const told: string[] = []
  for (const [keyword, value] of Object.entries(schema)) {
    if (canEnforce(keyword, value)) reduced[keyword] = reduceKeyword(keyword, value)
    else if (!IGNORED.has(keyword)) told.push(`${keyword}: ${JSON.stringify(value)}`)
  }
  if (Array.isArray(schema.oneOf)) reduced.anyOf ??= reduceAll(schema.oneOf)
  if (isObjectSchema(schema)) reduced.additionalProperties = false
  if (told.length > 0) reduced.description = describe(schema.description, told)
  return reduced
}

function reduceAll(schemas: readonly unknown[]): readonly unknown[] {
  return schemas.map(reduceAny)
}

function describe(description: unknown, told: readonly string[]): string {
  const note = `{${told.join(', ')}}`
  return typeof description === 'string' ? `${description}\n\n${note}` : note
}

const IGNORED = new Set(['$schema', '$id', '$comment', 'oneOf', 'additionalProperties'])

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || isJsonObject(properties)
}

function reduceKeyword(keyword: string, value: unknown): unknown {
  switch (keyword) {
    case 'properties':
    case '$defs':
    case 'definitions':
      return isJsonObject(value) ? reduceEach(value) : value
    case 'anyOf':
    case 'allOf':
      return Array.isArray(value) ? reduceAll(value) : value
    case 'items':
      return reduceAny(value)
    default:
      return value
  }
}

function canEnforce(keyword: string, value: unknown): boolean {
  if (keyword === 'format') return typeof value === 'string' && FORMATS.has(value)
  if (keyword === 'minItems') return value === 0 || value === 1
  return ENFORCED.has(keyword)
}

const ENFORCED = new Set(
  '$ref $defs definitions type enum const anyOf allOf title description properties required items'.split(' '),
)

const FORMATS = new Set('date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '))

export function reduceAny(schema: unknown): unknown {
  return isJsonObject(schema) ? reduceSchema(schema) : schema
}

/** Schemas by name: the names are the client's own and no keywords. */
function reduceEach(schemas: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, reduceAny(schema)]))
}
