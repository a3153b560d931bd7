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

/** Schemas and properties that are merged at most: schemas may refer to each other, and to themselves. */
const MAX_MERGED = 50_000

/** References and alternatives within each other. */
const MAX_DEPTH = 8

/**
 * Returns the schema of one object that accepts what the schema does, and more: the properties of all
 * alternatives, of which those are required that every alternative requires. Which of them belong together is
 * told in the description, where the model reads it.
 */
export function mergeRoot(root: JsonObject, refused: readonly string[]): JsonObject {
  let count = 0

  function merge(schema: JsonObject, depth: number): JsonObject {
    const { allOf, anyOf, oneOf, $ref, ...own } = schema
    count += 1 + Object.keys(asObject(own.properties)).length
    const parts: JsonObject[] = [own]
    const mergeEach = (schemas: readonly JsonObject[]) =>
      schemas.flatMap((each) => (count < MAX_MERGED ? [merge(each, depth + 1)] : []))
    if (depth < MAX_DEPTH) {
      parts.push(...mergeEach([...findReferenced($ref, root), ...asObjects(allOf)]))
      for (const alternatives of [asObjects(anyOf), asObjects(oneOf)])
        if (alternatives.length > 0) parts.push(toOneObject(mergeEach(alternatives)))
    }
    return mergeAll(parts)
  }

  const merged = { ...merge(root, 0), type: 'object' }
  return Object.fromEntries(Object.entries(merged).filter(([keyword]) => !refused.includes(keyword)))
}

/** The schema that a reference in the same document leads to, if there is one. */
function findReferenced(reference: unknown, root: JsonObject): readonly JsonObject[] {
  const path = asString(reference)
  if (path !== '#' && !path.startsWith('#/')) return []
  const keys = path.split('/').slice(1)
  const unescaped = keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  return [asObject(unescaped.reduce<unknown>((value, key) => asObject(value)[key], root))]
}

/** Everything that the schemas say. Of what they say differently, the first one counts. */
export function mergeAll(schemas: readonly JsonObject[]): JsonObject {
  const fields = new Map<string, unknown>()
  const properties = new Map<string, unknown>()
  const required = new Set<string>()
  const notes: string[] = []
  for (const schema of schemas) {
    for (const [keyword, value] of Object.entries(schema))
      if (!fields.has(keyword)) fields.set(keyword, value)
    for (const [name, property] of Object.entries(asObject(schema.properties)))
      if (!properties.has(name)) properties.set(name, property)
    for (const name of namesIn(schema.required)) required.add(name)
    if (asString(schema.description) !== '') notes.push(asString(schema.description))
  }
  fields.set('properties', Object.fromEntries(properties))
  if (required.size > 0) fields.set('required', [...required])
  if (notes.length > 0) fields.set('description', notes.join('\n\n'))
  return Object.fromEntries(fields)
}

/** What any of several objects may have, and what all of them require. */
function toOneObject(alternatives: readonly JsonObject[]): JsonObject {
  const forms = new Map<string, Map<string, JsonObject>>()
  for (const { properties } of alternatives)
    for (const [name, schema] of Object.entries(asObject(properties))) {
      const known = forms.get(name) ?? new Map()
      forms.set(name, known.set(JSON.stringify(schema), asObject(schema)))
    }
  const sets = alternatives.map(({ required }) => new Set(namesIn(required)))
  const common = [...(sets[0] ?? [])].filter((name) => sets.every((names) => names.has(name)))
  const choices = sets
    .map((names) => [...names].filter((name) => !common.includes(name)).join(', '))
    .filter((choice) => choice !== '')
  return {
    properties: Object.fromEntries(
      [...forms].map(([name, known]) => [name, mergeForms([...known.values()])]),
    ),
    ...(common.length > 0 && { required: common }),
    ...(choices.length > 0 && { description: `Alternatives: ${choices.join(' | ')}.` }),
  }
}

/** A property that has several forms: often the constant that tells alternatives apart. */
function mergeForms(forms: readonly JsonObject[]): JsonObject {
  const [first = {}] = forms
  if (forms.length === 1) return first
  const values = forms.map(valuesOf)
  if (values.some((each) => each.length === 0)) return { anyOf: forms }
  const { const: _, ...rest } = first
  return { ...rest, enum: [...new Set(values.flat())] }
}

function valuesOf({ const: value, enum: values }: JsonObject): readonly unknown[] {
  if (Array.isArray(values)) return values
  return value === undefined ? [] : [value]
}

function namesIn(required: unknown): readonly string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
}
