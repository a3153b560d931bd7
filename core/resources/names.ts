import { isJsonObject, type JsonObject, type TSchema } from '../contract/index.ts'

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

/** A value as the API shows it: only what the schema names, where it names the fields of an object. */
export function showValue(value: unknown, schema: TSchema | undefined): unknown {
  if (typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((item) => showValue(item, schema?.items as TSchema | undefined))
  if (!isJsonObject(value) || !isJsonObject(schema?.properties)) return renameFields(value, toSnakeCase)
  const shown: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(schema.properties)) {
    const part = value[toCamelCase(name)]
    if (part !== undefined) shown[name] = showValue(part, field as TSchema)
  }
  return shown
}

/** All fields of an entity as the API names them, without what the gateway keeps for itself. */
export function showFields(entity: object): JsonObject {
  const { revision: _, hash: __, ...fields } = entity as JsonObject
  return renameObject(fields, toSnakeCase)
}
