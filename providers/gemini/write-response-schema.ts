import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { mapSchema, replaceConst } from './map-schema.ts'

/** The keywords of `responseJsonSchema`: https://ai.google.dev/api/generate-content#FIELDS.response_json_schema */
const KEPT = new Set(
  `$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum anyOf
  oneOf properties additionalProperties required propertyOrdering`.split(/\s+/),
)

/**
 * A schema for the answer, in the keywords that Gemini takes. The others are said in those, or dropped, such as
 * `pattern`: the answer then satisfies a looser schema than the client's.
 */
export function writeResponseSchema(schema: unknown): unknown {
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
