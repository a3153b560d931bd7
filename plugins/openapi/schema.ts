import type { JsonObject } from '../../core/contract/index.ts'

export const text = { type: 'string' }
export const integer = { type: 'integer' }
export const number = { type: 'number' }
export const flag = { type: 'boolean' }
export const anyObject = { type: 'object' }
export const time = { type: 'string', description: 'ISO 8601, UTC' }

/** A schema of the components by its name. */
export function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

/** An object with these fields, of which only those whose name ends with `?` may be left out. */
export function object(fields: Readonly<Record<string, JsonObject>>): JsonObject {
  const names = Object.keys(fields)
  return {
    type: 'object',
    required: names.filter((name) => !name.endsWith('?')),
    properties: Object.fromEntries(names.map((name) => [name.replace(/\?$/, ''), fields[name]])),
  }
}

/** An object with these fields and no others. */
export function closed(fields: Readonly<Record<string, JsonObject>>): JsonObject {
  return { ...object(fields), additionalProperties: false }
}

export function list(items: JsonObject): JsonObject {
  return { type: 'array', items }
}

export function oneOf(...values: readonly string[]): JsonObject {
  return { type: 'string', enum: values }
}

export function orNull(schema: JsonObject): JsonObject {
  return { anyOf: [schema, { type: 'null' }] }
}

/** `{data: …}`, as successful results come (docs/api.md, "Chat completions"). */
export function data(schema: JsonObject): JsonObject {
  return closed({ data: schema })
}

export const success = closed({ success: { const: true } })
