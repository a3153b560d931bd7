import { isJsonObject, type JsonObject } from '../contract/index.ts'

/** The name of a field in code and in events: `appliesTo` for `applies_to`. */
export function toCamelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** The name of a field in the API: `applies_to` for `appliesTo`. */
export function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Renames the fields of a value, and of what is in it. */
export function renameFields(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renameFields(item, rename))
  return isJsonObject(value) ? renameObject(value, rename) : value
}

function renameObject(value: JsonObject, rename: (name: string) => string): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [rename(name), renameFields(field, rename)]),
  )
}

/** All fields of an entity as the API names them, without what the gateway keeps for itself. */
export function showFields(entity: object): JsonObject {
  const { revision: _, hash: __, ...fields } = entity as JsonObject
  return renameObject(fields, toSnakeCase)
}
