import {
  type JsonObject,
  Nullable,
  type Static,
  type TProperties,
  type TSchema,
  Type,
} from '../contract/index.ts'

/** An object that keeps unknown fields, which are not validated. */
export function OpenObject<Properties extends TProperties>(properties: Properties, options: JsonObject = {}) {
  const schema = Type.Object(properties, options)
  return Type.Unsafe<Static<typeof schema> & JsonObject>(schema)
}

/** An object with any fields. */
export function AnyObject(description: string) {
  return Type.Unsafe<JsonObject>({ type: 'object', additionalProperties: true, description })
}

/**
 * Objects that the field `tag` tells apart. Objects with other values of the field are valid, too, unless
 * `isClosed`. A variant whose field is optional is the default.
 */
export function Variants<Variant extends TSchema>(
  tag: string,
  variants: readonly Variant[],
  { isClosed = false, ...options }: JsonObject & { readonly isClosed?: boolean } = {},
) {
  const isTagged = variants.every(({ required }) => Array.isArray(required) && required.includes(tag))
  return Type.Unsafe<Static<Variant>>({
    [isTagged ? 'oneOf' : 'anyOf']: variants,
    discriminator: { propertyName: tag },
    ...(isClosed && { 'x-closed': true }),
    ...options,
  })
}

/** A list that is always empty. Its items are described for clients that read them. */
export function EmptyList(item: string) {
  return Type.Unsafe<never[]>(Type.Array(AnyObject(item), { description: 'Always empty.' }))
}

/** A field that is always null. Generators of clients do not support the type null alone. */
export function AlwaysNull(reason: string) {
  return Type.Unsafe<null>(Nullable(AnyObject(reason), { description: `Always null: ${reason}.` }))
}

/** A field with one value. */
export function Constant<const Value extends string>(value: Value) {
  return Type.Literal(value, { description: `Always ${value}.` })
}

/** A model name as clients send it, with or without a provider prefix. */
export const ModelName = Type.String({
  pattern: '^[!-~]{1,256}$',
  description: 'A model, provider:model, or a routing mode such as auto:cost. Default: auto:balance.',
})

/** A number from `minimum` to `maximum`, or null. */
export function NullableNumber(minimum: number, maximum: number, description: string) {
  return Nullable(Type.Number({ minimum, maximum }), { description })
}

export function NullableText(description: string) {
  return Nullable(Type.String(), { description })
}

export function NullableBoolean(description: string) {
  return Nullable(Type.Boolean(), { description })
}

/** A string field. */
export const Text = (description: string) => Type.String({ description })

const ChosenTool = OpenObject(
  { type: Type.Optional(Text('Kind of the tool, such as function.')) },
  { additionalProperties: true, $id: 'ChosenTool', description: 'The tool to call.' },
)

/** Which tool the model calls. */
export const ToolChoice = Type.Unsafe<string | JsonObject | null>(
  Type.Union([Type.String(), ChosenTool, Type.Null()], {
    description: 'auto, none, required, or the tool to call.',
  }),
)
