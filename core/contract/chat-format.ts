import type { ChatRequest } from './chat.ts'
import type { JsonObject } from './json.ts'
import type { ParameterChange, ProviderAdapter, Target } from './provider.ts'

/** What becomes of one field of a request. `keep`, `drop`, `rename` and the other helpers make rules. */
export interface FieldRule {
  /** The provider's name of the field; null leaves it out, with a warning. Default: the same name. */
  readonly name?: string | null
  /** Returns the value to send; undefined leaves the field out, with a warning. */
  convert?(value: unknown, request: ChatRequest, target: Target): unknown
  /** Warns the caller if another value is sent. */
  readonly isTold?: boolean
  /** The fields of `build` that express the field, which the rule then does not send itself. */
  readonly builtAs?: readonly string[]
}

/** Rules by the name of the field in chat completions. */
export type FieldRules = Readonly<Record<string, FieldRule>>

/**
 * A provider's API that is OpenAI's chat completions but for some points. What it declares as an adapter
 * replaces what is OpenAI's.
 */
export interface ChatFormat extends Partial<Omit<ProviderAdapter, 'format' | 'buildRequest'>> {
  /** Name of the format, which the setting `format` of a provider selects. */
  readonly format: string
  /** Default: `/chat/completions`. */
  readonly path?: string
  /** What becomes of the fields of requests; a function of the target if that depends on the model. */
  readonly fields: FieldRules | ((target: Target) => FieldRules)
  /** Whether fields without a rule are sent (the default), or left out with a warning. */
  readonly otherFields?: 'send' | 'drop'
  /** Returns fields of the body, such as `messages`, that depend on more than one field of the request. */
  build?(request: ChatRequest, target: Target): JsonObject
  /** Names further things that are left out, such as `strict in tools`. */
  findOmitted?(request: ChatRequest): readonly string[]
  /** Returns further changes that the caller is warned of. */
  findChanges?(request: ChatRequest, body: JsonObject): readonly ParameterChange[]
}

/** An adapter, or the chat format that one is built from. */
export type AdapterDeclaration = ProviderAdapter | ChatFormat

/** Declares the adapter of a provider that is compatible with OpenAI but for some points. */
export function chatAdapter(format: ChatFormat): ChatFormat {
  return format
}

/** Sends the field as it is. */
export const keep: FieldRule = {}

/** Leaves the field out, with a warning. */
export const drop: FieldRule = { name: null }

/** Sends the field under another name, as the other rule says. */
export function rename(name: string, rule: FieldRule = keep): FieldRule {
  return { ...rule, name }
}

/** Sends the nearest number of a range, with a warning. */
export function clamp(min: number, max: number): FieldRule {
  const convert = (value: unknown) =>
    typeof value === 'number' ? Math.min(Math.max(value, min), max) : value
  return { convert, isTold: true }
}

/** Sends the field if it has one of these values. */
export function oneOf(...values: readonly unknown[]): FieldRule {
  return { convert: (value) => (values.includes(value) ? value : undefined) }
}

/** Sends what a function returns; undefined leaves the field out, with a warning. */
export function convert(to: NonNullable<FieldRule['convert']>): FieldRule {
  return { convert: to }
}

/** `build` expresses the field by these fields of the body. */
export function builtAs(...names: readonly string[]): FieldRule {
  return { builtAs: names }
}
