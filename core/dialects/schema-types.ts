import { type JsonObject, Nullable, type Static, type TProperties, Type } from '../contract/index.ts'

/** An object that keeps unknown fields, which are not validated. */
export function OpenObject<Properties extends TProperties>(properties: Properties, options: JsonObject = {}) {
  const schema = Type.Object(properties, options)
  return Type.Unsafe<Static<typeof schema> & JsonObject>(schema)
}

/** An object with any fields. */
export const AnyObject = Type.Unsafe<JsonObject>({ type: 'object' })

/** A model name as clients send it, with or without a provider prefix. */
export const ModelName = Type.String({ pattern: '^[!-~]{1,256}$' })

/** A number from `minimum` to `maximum`, or null. */
export function NullableNumber(minimum: number, maximum: number) {
  return Nullable(Type.Number({ minimum, maximum }))
}
