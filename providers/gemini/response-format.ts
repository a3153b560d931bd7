import type { ChatRequest } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { asObject, asObjects } from '../shared/fields.ts'
import { mergeAll } from '../shared/merge-root.ts'
import { mapSchemas } from '../shared/schema-constraints.ts'
import type { GeminiFamily, GenerationConfig } from './wire.ts'

type ResponseFormatFields = Pick<GenerationConfig, 'responseMimeType' | 'responseJsonSchema'>

/**
 * https://ai.google.dev/gemini-api/docs/structured-output. Throws a `GatewayError` for an unknown format, and
 * for JSON together with tools on models before Gemini 3.
 */
export function toGeminiResponseFormat(
  { response_format: format, tools }: ChatRequest,
  family: GeminiFamily,
): ResponseFormatFields {
  if (format == null) return {}
  if (format.type === 'text') return { responseMimeType: 'text/plain' }
  if (family === 'gemini-2' && tools != null && tools.length > 0) {
    throw unsupportedFormatError(
      'Gemini models before version 3 do not support a JSON response_format together with tools.',
    )
  }
  switch (format.type) {
    case 'json_object':
      return { responseMimeType: 'application/json' }
    case 'json_schema': {
      const { schema } = asObject(format.json_schema)
      return { responseMimeType: 'application/json', responseJsonSchema: toResponseSchema(schema) }
    }
    default:
      throw unsupportedFormatError(`gemini does not support a response_format of type "${format.type}".`)
  }
}

function unsupportedFormatError(message: string): GatewayError {
  return new GatewayError('unsupported_parameter', message, { param: 'response_format' })
}

/**
 * Converts a JSON schema to the keywords that Gemini supports. Others are expressed in these, or dropped,
 * such as `pattern`: the reply then conforms to a less strict schema than the client's.
 */
function toResponseSchema(schema: unknown): unknown {
  return mapSchemas(schema, (each) =>
    keepSupported(moveDefinitions(moveBounds(mergeAllOf(replaceConst(each))))),
  )
}

function mergeAllOf({ allOf, ...schema }: JsonObject): JsonObject {
  return Array.isArray(allOf) ? mergeAll([schema, ...asObjects(allOf)]) : schema
}

/** Makes exclusive bounds inclusive. */
function moveBounds({ exclusiveMinimum, exclusiveMaximum, ...schema }: JsonObject): JsonObject {
  return {
    ...(typeof exclusiveMinimum === 'number' && { minimum: exclusiveMinimum }),
    ...(typeof exclusiveMaximum === 'number' && { maximum: exclusiveMaximum }),
    ...schema,
  }
}

/** Moves `definitions`, the older name, to `$defs`. */
function moveDefinitions({ definitions, $ref, ...schema }: JsonObject): JsonObject {
  return {
    ...schema,
    ...(isJsonObject(definitions) && { $defs: { ...asObject(schema.$defs), ...definitions } }),
    ...(typeof $ref === 'string' && { $ref: $ref.replace('#/definitions/', '#/$defs/') }),
  }
}

/** Only other `$` keywords are allowed beside a `$ref`. */
function keepSupported(schema: JsonObject): JsonObject {
  const isSupported = (keyword: string) =>
    SUPPORTED_KEYWORDS.has(keyword) && (!('$ref' in schema) || keyword.startsWith('$'))
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => isSupported(keyword)))
}

/**
 * The keywords of `responseJsonSchema`:
 * https://ai.google.dev/api/generate-content#FIELDS.response_json_schema
 */
const SUPPORTED_KEYWORDS = new Set(
  `$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum
  maximum anyOf oneOf properties additionalProperties required propertyOrdering`.split(/\s+/),
)

/** Exclusive bounds are enforced as inclusive ones. */
export const ENFORCED_CONSTRAINTS: ReadonlySet<string> = new Set(
  'minimum maximum minItems maxItems'.split(' '),
)

/** Gemini ignores `const`, so it becomes an `enum` of one value. */
export function replaceConst(schema: JsonObject): JsonObject {
  if (!('const' in schema)) return schema
  const { const: value, ...rest } = schema
  if (value === null) return { type: 'null', ...rest }
  return { ...(typeof value !== 'object' && { type: typeof value }), ...rest, enum: [value] }
}
