import type { ChatRequest } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { asObject } from '../shared/fields.ts'
import type { Family, GenerationConfig } from './wire.ts'

type Output = Pick<GenerationConfig, 'responseMimeType' | 'responseJsonSchema'>

/** The form of the answer: https://ai.google.dev/gemini-api/docs/structured-output */
export function writeOutput({ response_format: format, tools }: ChatRequest, family: Family): Output {
  if (format == null) return {}
  if (format.type === 'text') return { responseMimeType: 'text/plain' }
  if (family === 'gemini-2' && tools != null && tools.length > 0) {
    throw unsupported('Gemini models before 3 cannot answer in JSON when there are tools.')
  }
  switch (format.type) {
    case 'json_object':
      return { responseMimeType: 'application/json' }
    case 'json_schema': {
      const { schema } = asObject(format.json_schema)
      return { responseMimeType: 'application/json', responseJsonSchema: writeResponseSchema(schema) }
    }
    default:
      throw unsupported(`gemini knows no response_format of type "${format.type}".`)
  }
}

function unsupported(message: string): GatewayError {
  return new GatewayError('unsupported_parameter', message, { param: 'response_format' })
}

/** The keywords of `responseJsonSchema`: https://ai.google.dev/api/generate-content#FIELDS.response_json_schema */
const KEPT = new Set(
  `$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum anyOf
  oneOf properties additionalProperties required propertyOrdering`.split(/\s+/),
)

/**
 * A schema for the answer, in the keywords that Gemini takes. The others are said in those, or dropped, such as
 * `pattern`: the answer then satisfies a looser schema than the client's.
 */
function writeResponseSchema(schema: unknown): unknown {
  return mapSchema(schema, (each) => keepKnown(moveReference(moveBounds(mergeAllOf(replaceConst(each))))))
}

function mergeAllOf({ allOf, ...schema }: JsonObject): JsonObject {
  return Array.isArray(allOf) ? allOf.filter(isJsonObject).reduce(merge, schema) : schema
}

function merge(one: JsonObject, other: JsonObject): JsonObject {
  const merged = { ...other, ...one }
  const properties = { ...objectOrEmpty(one.properties), ...objectOrEmpty(other.properties) }
  const required = new Set([...readArray(one.required), ...readArray(other.required)])
  return {
    ...merged,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.size > 0 && { required: [...required] }),
  }
}

function objectOrEmpty(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

function readArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function moveBounds({ exclusiveMinimum, exclusiveMaximum, ...schema }: JsonObject): JsonObject {
  return {
    ...(typeof exclusiveMinimum === 'number' && { minimum: exclusiveMinimum }),
    ...(typeof exclusiveMaximum === 'number' && { maximum: exclusiveMaximum }),
    ...schema,
  }
}

const OLD_DEFINITIONS = '#/definitions/'

function moveReference({ definitions, $ref, ...schema }: JsonObject): JsonObject {
  return {
    ...schema,
    ...(isJsonObject(definitions) && { $defs: { ...objectOrEmpty(schema.$defs), ...definitions } }),
    ...(typeof $ref === 'string' && { $ref: $ref.replace(OLD_DEFINITIONS, '#/$defs/') }),
  }
}

/** Beside a `$ref` only other `$` keywords may stand. */
function keepKnown(schema: JsonObject): JsonObject {
  const isKept = (keyword: string) => KEPT.has(keyword) && (!('$ref' in schema) || keyword.startsWith('$'))
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => isKept(keyword)))
}

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
