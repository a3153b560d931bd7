import { isJsonObject, type JsonObject } from '../contract/index.ts'

/** Variants of an object that a field tells apart, such as `type`. See `Variants`. */
interface TaggedUnion extends JsonObject {
  readonly discriminator: { readonly propertyName: string }
  readonly variants: readonly JsonObject[]
}

/**
 * Converts a schema of the documentation to one for the validator. Valid are the same values, and errors are
 * about the branch of a union that was meant:
 * - no `$id`s, which name the components of the OpenAPI document and are addresses for validators;
 * - a union of types, such as a string or an array, becomes one schema with a list of types;
 * - a union of objects with a `discriminator` becomes conditions on that field. Objects with another value
 *   are valid, unless the union is closed.
 */
export function toValidationSchema<Schema>(schema: Schema): Schema {
  return convert(schema) as Schema
}

function convert(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(convert)
  if (!isJsonObject(schema)) return schema
  const { $id, ...rest } = schema
  const kept = typeof $id === 'string' ? rest : schema
  const converted: JsonObject = Object.fromEntries(
    Object.entries(kept).map(([key, value]) => [key, KEPT.includes(key) ? value : convert(value)]),
  )
  const union = findTaggedUnion(converted)
  if (union !== undefined) return toConditions(union)
  return mergeTypes(converted)
}

/** Keywords whose values are not schemas. */
const KEPT: readonly string[] = ['enum', 'const', 'default', 'examples', 'required', 'discriminator']

function findTaggedUnion(schema: JsonObject): TaggedUnion | undefined {
  const { discriminator, anyOf = schema.oneOf } = schema
  if (!isJsonObject(discriminator) || !Array.isArray(anyOf)) return undefined
  return { ...schema, discriminator: { propertyName: String(discriminator.propertyName) }, variants: anyOf }
}

function toConditions(union: TaggedUnion): JsonObject {
  const { discriminator, variants, 'x-closed': isClosed } = union
  const tag = discriminator.propertyName
  const values = variants.flatMap((variant) => tagValues(variant, tag))
  const fallback = variants.find((variant) => !requires(variant, tag))
  return {
    type: 'object',
    ...(fallback === undefined && { required: [tag] }),
    properties: { [tag]: { type: 'string', ...(isClosed === true && { enum: values }) } },
    allOf: [
      ...variants.map((variant) => ({
        if: { required: [tag], properties: { [tag]: { enum: tagValues(variant, tag) } } },
        // biome-ignore lint/suspicious/noThenProperty: a JSON schema keyword
        then: withoutType(variant),
      })),
      ...(fallback === undefined ? [] : [{ if: { required: [tag] }, else: withoutType(fallback) }]),
    ],
  }
}

function withoutType({ type: _, ...schema }: JsonObject): JsonObject {
  return schema
}

function requires({ required }: JsonObject, field: string): boolean {
  return Array.isArray(required) && required.includes(field)
}

function tagValues({ properties }: JsonObject, tag: string): readonly unknown[] {
  const schema = isJsonObject(properties) ? properties[tag] : undefined
  if (!isJsonObject(schema)) return []
  return Array.isArray(schema.enum) ? schema.enum : [schema.const]
}

/** Merges a union whose branches are of different types: their keywords apply to one type each. */
function mergeTypes(schema: JsonObject): JsonObject {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || !anyOf.every(isMergeable)) return schema
  const types = anyOf.flatMap(({ type }) => type)
  const isDistinct =
    new Set(types).size === types.length && !(types.includes('integer') && types.includes('number'))
  return isDistinct ? { ...rest, ...Object.assign({}, ...anyOf), type: types } : schema
}

/** True if no keyword of the schema applies to values of another type. */
function isMergeable(schema: unknown): boolean {
  return isJsonObject(schema) && schema.type !== undefined && !GENERAL_KEYWORDS.some((key) => key in schema)
}

const GENERAL_KEYWORDS = ['enum', 'const', 'anyOf', 'oneOf', 'not']
