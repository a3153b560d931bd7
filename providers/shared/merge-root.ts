import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { asObject, asObjects, asString } from './fields.ts'

/** Whether the root of a schema is not that of an object with properties, or has a refused keyword. */
export function needsMerge(schema: JsonObject, refused: readonly string[]): boolean {
  const { type, properties, $ref } = schema
  return (
    type !== 'object' ||
    !isJsonObject(properties) ||
    $ref !== undefined ||
    refused.some((keyword) => schema[keyword] !== undefined)
  )
}

/** References at the root that are followed: a schema may refer to itself. */
const MAX_DEPTH = 8

/**
 * Returns the schema of one object that accepts what the schema does, and more: the properties of all
 * alternatives, of which those are required that every alternative requires. Which of them belong together is
 * told in the description, where the model reads it.
 */
export function mergeRoot(schema: JsonObject, refused: readonly string[]): JsonObject {
  const merged = { ...mergeAlternatives(schema, schema, 0), type: 'object' }
  return Object.fromEntries(Object.entries(merged).filter(([keyword]) => !refused.includes(keyword)))
}

function mergeAlternatives(schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  const { allOf, anyOf, oneOf, $ref: _, ...own } = followReference(schema, root)
  if (depth === MAX_DEPTH) return { properties: {}, ...own }
  const merge = (each: JsonObject) => mergeAlternatives(each, root, depth + 1)
  let merged: JsonObject = asObjects(allOf)
    .map(merge)
    .reduce((one, other) => mergeAll(one, other), { ...own, properties: asObject(own.properties) })
  for (const alternatives of [asObjects(anyOf).map(merge), asObjects(oneOf).map(merge)])
    if (alternatives.length > 0) merged = mergeAll(merged, toOneObject(alternatives))
  return merged
}

/** A schema with the fields of the schema that it refers to, in the same document. */
function followReference(schema: JsonObject, root: JsonObject): JsonObject {
  const reference = asString(schema.$ref)
  if (!reference.startsWith('#/')) return schema
  const path = reference.slice(2).split('/')
  const found = path.reduce<unknown>((value, key) => asObject(value)[key], root)
  const { $ref: _, ...own } = schema
  return { ...asObject(found), ...own }
}

/** Everything that both schemas say. Of what they say differently, the first one counts. */
function mergeAll(one: JsonObject, other: JsonObject): JsonObject {
  const required = new Set([...namesIn(one.required), ...namesIn(other.required)])
  const notes = [one.description, other.description].map(asString).filter((note) => note !== '')
  return {
    ...other,
    ...one,
    properties: { ...asObject(other.properties), ...asObject(one.properties) },
    ...(required.size > 0 && { required: [...required] }),
    ...(notes.length > 0 && { description: notes.join('\n\n') }),
  }
}

/** What any of several objects may have, and what all of them require. */
function toOneObject(alternatives: readonly JsonObject[]): JsonObject {
  const properties: Record<string, JsonObject> = {}
  for (const alternative of alternatives)
    for (const [name, schema] of Object.entries(asObject(alternative.properties)))
      properties[name] = mergeProperty(properties[name], asObject(schema))
  const sets = alternatives.map(({ required }) => namesIn(required))
  const common = (sets[0] ?? []).filter((name) => sets.every((names) => names.includes(name)))
  const choices = sets
    .map((names) => names.filter((name) => !common.includes(name)).join(', '))
    .filter((choice) => choice !== '')
  return {
    properties,
    ...(common.length > 0 && { required: common }),
    ...(choices.length > 0 && { description: `Alternatives: ${choices.join(' | ')}.` }),
  }
}

/** A property that several alternatives have: often the constant that tells them apart. */
function mergeProperty(one: JsonObject | undefined, other: JsonObject): JsonObject {
  if (one === undefined || JSON.stringify(one) === JSON.stringify(other)) return other
  const values = [...valuesOf(one), ...valuesOf(other)]
  if (valuesOf(one).length > 0 && valuesOf(other).length > 0) {
    const { const: _, ...rest } = one
    return { ...rest, enum: [...new Set(values)] }
  }
  const known = Object.keys(one).length === 1 && Array.isArray(one.anyOf) ? one.anyOf : [one]
  return { anyOf: [...known, other] }
}

function valuesOf({ const: value, enum: values }: JsonObject): readonly unknown[] {
  if (Array.isArray(values)) return values
  return value === undefined ? [] : [value]
}

function namesIn(required: unknown): readonly string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
}
