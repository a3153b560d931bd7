import type { ChatRequest } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { asObject } from '../shared/fields.ts'
import { missingParameterError } from '../shared/request-errors.ts'
import type { OutputFormat } from './wire.ts'

/**
 * The output format for a `json_schema` (docs/providers.md, "Anthropic"); undefined for
 * other formats. Throws a `GatewayError` if the schema is missing.
 */
export function toAnthropicResponseFormat(format: ChatRequest['response_format']): OutputFormat | undefined {
  if (format?.type !== 'json_schema') return undefined
  const { schema } = asObject(format.json_schema)
  if (isJsonObject(schema)) return { type: 'json_schema', schema: toAnthropicSchema(schema) }
  throw missingParameterError('response_format.json_schema.schema')
}

/**
 * Converts a JSON schema to the subset that Anthropic enforces: objects allow no additional properties, and
 * `oneOf` becomes `anyOf`. Constraints that it cannot enforce are moved to the description, where the model
 * reads them, as in Anthropic's own SDK (docs/providers.md, "Anthropic").
 */
export function toAnthropicSchema(schema: JsonObject): JsonObject {
  const converted: Record<string, unknown> = {}
  const described: string[] = []
  for (const [keyword, value] of Object.entries(schema)) {
    if (isEnforced(keyword, value)) converted[keyword] = convertKeyword(keyword, value)
    else if (!IGNORED_KEYWORDS.has(keyword)) described.push(`${keyword}: ${JSON.stringify(value)}`)
  }
  if (Array.isArray(schema.oneOf)) converted.anyOf ??= schema.oneOf.map(convertSubschema)
  if (isObjectSchema(schema)) converted.additionalProperties = false
  if (described.length > 0) converted.description = appendConstraints(schema.description, described)
  return converted
}

function isEnforced(keyword: string, value: unknown): boolean {
  if (keyword === 'format') return typeof value === 'string' && FORMATS.has(value)
  if (keyword === 'minItems') return value === 0 || value === 1
  return ENFORCED_KEYWORDS.has(keyword)
}

const ENFORCED_KEYWORDS = new Set(
  '$ref $defs definitions type enum const anyOf allOf title description properties required items'.split(' '),
)

const FORMATS = new Set('date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '))

const IGNORED_KEYWORDS = new Set(['$schema', '$id', '$comment', 'oneOf', 'additionalProperties'])

function convertKeyword(keyword: string, value: unknown): unknown {
  switch (keyword) {
    case 'properties':
    case '$defs':
    case 'definitions':
      return isJsonObject(value) ? convertNamedSchemas(value) : value
    case 'anyOf':
    case 'allOf':
      return Array.isArray(value) ? value.map(convertSubschema) : value
    case 'items':
      return convertSubschema(value)
    default:
      return value
  }
}

function convertSubschema(schema: unknown): unknown {
  return isJsonObject(schema) ? toAnthropicSchema(schema) : schema
}

/** The keys are names chosen by the client, not keywords. */
function convertNamedSchemas(schemas: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, convertSubschema(schema)]))
}

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || isJsonObject(properties)
}

function appendConstraints(description: unknown, constraints: readonly string[]): string {
  const note = `{${constraints.join(', ')}}`
  return typeof description === 'string' ? `${description}\n\n${note}` : note
}
