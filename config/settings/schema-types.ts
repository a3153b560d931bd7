import {
  type TNull,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnion,
  Type,
} from '@sinclair/typebox'

/** An object that refuses unknown properties. */
export function StrictObject<Properties extends TProperties>(
  properties: Properties,
  options: { description?: string; default?: object } = {},
): TObject<Properties> {
  return Type.Object(properties, { additionalProperties: false, ...options })
}

/**
 * One of these strings, as `enum`. A union of literals would become `anyOf`, which validates with worse
 * messages.
 */
export function StringEnum<const Value extends string>(
  values: readonly Value[],
  options: { description?: string; default?: Value } = {},
) {
  return Type.Unsafe<Value>({ type: 'string', enum: values, ...options })
}

/**
 * The schema or null, as a list of types. A union with null would become `anyOf`, which validates with worse
 * messages.
 */
export function Nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Unsafe<TUnion<[Schema, TNull]>['static']>({ ...schema, type: [schema.type, 'null'] })
}

/** A duration from 1 ms to one hour. */
export function Milliseconds(description: string) {
  return Type.Integer({ minimum: 1, maximum: 3_600_000, description })
}

export function Port(description: string) {
  return Type.Integer({ minimum: 0, maximum: 65_535, description })
}
