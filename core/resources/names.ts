import { isJsonObject, type JsonObject, type TSchema } from '../contract/index.ts'

/** The name of a field in code and in events: `appliesTo` for `applies_to`. */
export function toCamelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** The name of a field in the API: `applies_to` for `appliesTo`. */
export function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Renames the fields of a value, and of what is in it. Those whose new name is empty are left out. */
export function renameFields(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renameFields(item, rename))
  return isJsonObject(value) ? renameObject(value, rename) : value
}

function renameObject(value: JsonObject, rename: (name: string) => string): JsonObject {
  const renamed: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(value)) {
    const newName = rename(name)
    if (newName !== '' && field !== undefined) renamed[newName] = renameFields(field, rename)
  }
  return renamed
}

const fieldsBySchema = new WeakMap<object, readonly (readonly [name: string, field: string, TSchema])[]>()

function fieldsOf(properties: object) {
  const known = fieldsBySchema.get(properties)
  if (known !== undefined) return known
  const fields = Object.entries(properties).map(
    ([name, schema]) => [name, toCamelCase(name), schema] as const,
  )
  fieldsBySchema.set(properties, fields)
  return fields
}

/** A value as the API shows it: only what the schema names, where it names the fields of an object. */
export function showValue(value: unknown, schema: TSchema | undefined): unknown {
  if (typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((item) => showValue(item, schema?.items as TSchema | undefined))
  if (!isJsonObject(value) || !isJsonObject(schema?.properties)) return renameFields(value, toSnakeCase)
  const shown: Record<string, unknown> = {}
  for (const [name, field, part] of fieldsOf(schema.properties))
    if (value[field] !== undefined) shown[name] = showValue(value[field], part)
  return shown
}

/** What the gateway keeps for itself. */
const HIDDEN = ['hash', 'revision', 'position']

/** All fields of an entity as the API names them, without those that are hidden. */
export function showFields(entity: object): JsonObject {
  return renameObject(entity as JsonObject, (name) => (HIDDEN.includes(name) ? '' : toSnakeCase(name)))
}
