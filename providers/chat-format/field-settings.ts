import type { FieldRule, FieldRules } from '../../core/contract/chat-format.ts'
import { drop, keep } from '../../core/contract/chat-format.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, StrictObject, StringEnum, Type } from '../../core/contract/json.ts'
import type { Target } from '../../core/contract/provider.ts'
import { isDefaultValue } from '../shared/deviations.ts'
import { findNearestEffort } from '../shared/efforts.ts'

// Where a provider differs from OpenAI's chat completions, as data (docs/guides/presets.md, "Fields").

export const FieldSetting = Type.Union([
  StringEnum(['keep', 'drop', 'refuse'], {
    description: 'drop leaves the field out, with a warning; refuse answers requests that have it with 400.',
  }),
  StrictObject({
    name: Type.Optional(Type.String({ minLength: 1, description: "The provider's name of the field." })),
    sent_to: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        description: 'Only models whose names contain one of these texts get the field.',
      }),
    ),
    min: Type.Optional(Type.Number({ description: 'Smaller numbers are raised to it, with a warning.' })),
    max: Type.Optional(Type.Number({ description: 'Larger numbers are lowered to it, with a warning.' })),
    values: Type.Optional(
      Type.Array(Type.Unknown(), {
        minItems: 1,
        description: 'The supported values; of an object, its type. Others are treated as otherwise says.',
      }),
    ),
    otherwise: Type.Optional(
      StringEnum(['drop', 'refuse', 'nearest'], {
        default: 'drop',
        description: 'What becomes of other values. nearest is for reasoning_effort.',
      }),
    ),
    map: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'What is sent for a value; of an object, for its type. other stands for all others.',
      }),
    ),
  }),
])

type FieldSettingValue = 'keep' | 'drop' | 'refuse' | FieldChange

interface FieldChange {
  readonly name?: string
  readonly sent_to?: readonly string[]
  readonly min?: number
  readonly max?: number
  readonly values?: readonly unknown[]
  readonly otherwise?: 'drop' | 'refuse' | 'nearest'
  readonly map?: Readonly<Record<string, unknown>>
}

/** What a row of the settings says of its provider's chat completions. */
export interface ChatSettings {
  /** By the field of the request; `messages.name` is a field of messages. */
  readonly fields?: Readonly<Record<string, FieldSettingValue>> | undefined
  /** Fields of every request that does not have them. */
  readonly body?: Readonly<Record<string, unknown>> | undefined
}

const MESSAGE_PREFIX = 'messages.'

/** The rules for fields of requests, and those for fields of messages. */
export function toFieldRules({ fields = {} }: ChatSettings): { fields: FieldRules; messages: FieldRules } {
  const rules = Object.entries(fields).map(
    ([field, setting]) => [field, toFieldRule(field, setting)] as const,
  )
  // A rule removes its own field first, which another one may have set.
  const sorted = rules.toSorted(([, a], [, b]) => Number(isRenamed(a)) - Number(isRenamed(b)))
  const ofMessages = sorted.filter(([field]) => field.startsWith(MESSAGE_PREFIX))
  return {
    fields: Object.fromEntries(sorted.filter(([field]) => !field.startsWith(MESSAGE_PREFIX))),
    messages: Object.fromEntries(
      ofMessages.map(([field, rule]) => [field.slice(MESSAGE_PREFIX.length), rule]),
    ),
  }
}

function isRenamed({ name }: FieldRule): boolean {
  return name != null
}

function toFieldRule(field: string, setting: FieldSettingValue): FieldRule {
  if (setting === 'keep') return keep
  if (setting === 'drop') return drop
  if (setting === 'refuse') return { convert: (value, _, target) => refuseField(field, value, target) }
  const { name, sent_to, min = -Infinity, max = Infinity, values, otherwise, map } = setting
  return {
    ...(name !== undefined && { name }),
    isTold: name === undefined && map === undefined,
    convert(value, _, target) {
      if (sent_to !== undefined && !sent_to.some((text) => target.model.includes(text))) return undefined
      if (typeof value === 'number') return Math.min(Math.max(value, min), max)
      const kind = isJsonObject(value) ? value.type : value
      if (values !== undefined && !values.includes(kind)) {
        if (otherwise === 'refuse') return refuseField(field, value, target)
        return otherwise === 'nearest' ? findNearestEffort(String(value), values.map(String)) : undefined
      }
      if (map === undefined) return value
      const key = String(kind)
      if (Object.hasOwn(map, key)) return map[key]
      return Object.hasOwn(map, 'other') ? map.other : value
    },
  }
}

/** Leaves out a value that asks for nothing. */
function refuseField(field: string, value: unknown, { provider, model }: Target): undefined {
  if (isDefaultValue(field, value)) return undefined
  const asked = typeof value === 'string' ? ` ${value}` : ''
  const message =
    `${provider}/${model} does not support ${field}${asked}. Use another model, or change ` +
    `providers.${provider}.fields.${field} if it does.`
  throw new GatewayError('unsupported_parameter', message, { param: field })
}
