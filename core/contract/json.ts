import type { Static, TObject, TOptional, TProperties, TSchema, Type as TypeBox } from '@sinclair/typebox'

/** A JSON object whose fields have not been validated. */
export interface JsonObject {
  readonly [field: string]: unknown
}

/** A value or a promise of it. Avoids a microtask on hot paths that rarely wait. */
export type MaybePromise<Value> = Value | Promise<Value>

/** True for an object that is not an array and not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export type { Static, TObject, TOptional, TProperties, TSchema }

/** The builders of TypeBox that `Type` has. */
type SchemaBuilder = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Partial'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>

type Schema = Readonly<Record<PropertyKey, unknown>>

// TypeBox marks schemas with these symbols.
const KIND = Symbol.for('TypeBox.Kind')
const OPTIONAL = Symbol.for('TypeBox.Optional')

/** True for a schema made by `Type.Optional`. */
export function isOptional(schema: object): boolean {
  return OPTIONAL in schema
}

/** Options come first and cannot replace what the builder sets, as in TypeBox. */
function build(kind: string, fields: Schema, options: Schema = {}): Schema {
  return { ...options, [KIND]: kind, ...fields }
}

function buildObject(properties: Readonly<Record<string, object>>, options?: Schema): Schema {
  const required = Object.keys(properties).filter((name) => !isOptional(properties[name] ?? {}))
  return build('Object', { type: 'object', ...(required.length > 0 && { required }), properties }, options)
}

function buildPartial({ $id: _, required, properties, ...rest }: Schema, options?: Schema): Schema {
  const entries = Object.entries(Object(properties)).map(([name, schema]) => [
    name,
    Type.Optional(schema as TSchema),
  ])
  return { ...buildObject(Object.fromEntries(entries), rest), ...options }
}

const schemaBuilder = {
  Array: (items: unknown, options?: Schema) => build('Array', { type: 'array', items }, options),
  Boolean: (options?: Schema) => build('Boolean', { type: 'boolean' }, options),
  Integer: (options?: Schema) => build('Integer', { type: 'integer' }, options),
  Literal: (value: unknown, options?: Schema) =>
    build('Literal', { const: value, type: typeof value }, options),
  Null: (options?: Schema) => build('Null', { type: 'null' }, options),
  Number: (options?: Schema) => build('Number', { type: 'number' }, options),
  Object: buildObject,
  Optional: (schema: Schema) => ({ ...schema, [OPTIONAL]: 'Optional' }),
  Partial: buildPartial,
  Record: (_key: unknown, value: unknown, options?: Schema) =>
    build('Record', { type: 'object', patternProperties: { '^(.*)$': value } }, options),
  String: (options?: Schema) => build('String', { type: 'string' }, options),
  Union: (anyOf: readonly unknown[], options?: Schema) => build('Union', { anyOf }, options),
  Unknown: (options?: Schema) => build('Unknown', {}, options),
  Unsafe: (options: Schema = {}) => build('Unsafe', {}, options),
}

/**
 * Builds JSON schemas with static types, exactly as TypeBox builds them: `Static<typeof schema>` is the type
 * of valid values. Importing TypeBox itself takes 50 to 90 ms and 10 MB, so only its types are used. Keys of
 * `Type.Record` are strings of any form.
 */
export const Type = schemaBuilder as unknown as SchemaBuilder

/** An object that refuses unknown fields: for request bodies and options. */
export function StrictObject<Properties extends TProperties>(properties: Properties, options: Schema = {}) {
  return Type.Object(properties, { additionalProperties: false, ...options })
}

/** One of these strings, as `enum`: validates with better messages than a union of literals. */
export function StringEnum<const Value extends string>(values: readonly Value[], options: Schema = {}) {
  return Type.Unsafe<Value>({ type: 'string', enum: values, ...options })
}

/** The schema or null. Uses a list of types if possible: it validates with better messages than a union. */
export function Nullable<Inner extends TSchema>(schema: Inner, options: Schema = {}) {
  const { $id, type } = schema
  if ($id !== undefined || typeof type !== 'string')
    return Type.Unsafe<Static<Inner> | null>({ anyOf: [schema, Type.Null()], ...options })
  const values = Array.isArray(schema.enum) && { enum: [...schema.enum, null] }
  return Type.Unsafe<Static<Inner> | null>({ ...schema, type: [type, 'null'], ...values, ...options })
}
