import { isJsonObject, type JsonObject } from '../contract/index.ts'

/** Values that are compared with a schema. Beyond it, a value counts as matching. */
const MAX_STEPS = 20_000

/** Schemas may refer to themselves. */
const MAX_DEPTH = 200

/**
 * Tells whether a value has the form that a caller's JSON schema describes: types, required and additional
 * properties, items, enums, constants, alternatives and references within the schema. Other keywords are
 * ignored. See docs/decisions/feedback.md, "A demanded form is compared without compiling the schema".
 */
export function matchesSchema(value: unknown, schema: unknown): boolean {
  return new SchemaMatch(schema).matches(value, schema)
}

class SchemaMatch {
  readonly #root: unknown
  #steps = 0
  #depth = 0

  constructor(root: unknown) {
    this.#root = root
  }

  matches(value: unknown, schema: unknown): boolean {
    if (typeof schema === 'boolean') return schema
    if (!isJsonObject(schema) || this.#steps >= MAX_STEPS || this.#depth >= MAX_DEPTH) return true
    this.#steps += 1
    this.#depth += 1
    const result = this.#matchesKeywords(value, schema)
    this.#depth -= 1
    return result
  }

  #matchesKeywords(value: unknown, schema: JsonObject): boolean {
    if (typeof schema.$ref === 'string') return this.matches(value, this.#resolve(schema.$ref))
    return (
      hasType(value, schema.type) &&
      isListed(value, schema) &&
      this.#matchesAlternatives(value, schema) &&
      (!isJsonObject(value) || this.#matchesProperties(value, schema)) &&
      (!Array.isArray(value) || value.every((item) => this.matches(item, schema.items)))
    )
  }

  #matchesAlternatives(value: unknown, { anyOf, oneOf, allOf }: JsonObject): boolean {
    const matches = (schema: unknown) => this.matches(value, schema)
    return (
      (!Array.isArray(anyOf) || anyOf.some(matches)) &&
      (!Array.isArray(oneOf) || oneOf.some(matches)) &&
      (!Array.isArray(allOf) || allOf.every(matches))
    )
  }

  #matchesProperties(value: JsonObject, { properties, required, additionalProperties }: JsonObject): boolean {
    const known = isJsonObject(properties) ? properties : {}
    const isMissing = (name: unknown) => typeof name === 'string' && !Object.hasOwn(value, name)
    if (Array.isArray(required) && required.some(isMissing)) return false
    return Object.entries(value).every(([name, field]) =>
      this.matches(field, Object.hasOwn(known, name) ? known[name] : additionalProperties),
    )
  }

  /** Anything matches a reference that cannot be resolved. */
  #resolve(reference: string): unknown {
    if (!reference.startsWith('#')) return true
    let target: unknown = this.#root
    for (const name of reference.split('/').slice(1)) {
      if (!isJsonObject(target) || !Object.hasOwn(target, name)) return true
      target = target[name]
    }
    return target
  }
}

function hasType(value: unknown, type: unknown): boolean {
  if (Array.isArray(type)) return type.some((alternative) => hasType(value, alternative))
  switch (type) {
    case 'object':
      return isJsonObject(value)
    case 'array':
      return Array.isArray(value)
    case 'null':
      return value === null
    case 'integer':
      return Number.isInteger(value)
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type
    default:
      return true
  }
}

function isListed(value: unknown, schema: JsonObject): boolean {
  const isSame = (allowed: unknown) => JSON.stringify(allowed) === JSON.stringify(value)
  if (Array.isArray(schema.enum) && !schema.enum.some(isSame)) return false
  return !Object.hasOwn(schema, 'const') || isSame(schema.const)
}
