import { type Static, StrictObject, StringEnum, type TObject, Type } from '../../core/contract/json.ts'
import type { Model } from '../../core/contract/provider.ts'
import { EFFORTS } from './efforts.ts'

// What catalogue rows say of a model for the adapter of one format (docs/providers.md, "The catalogue").

const efforts = (byDefault: string) =>
  Type.Optional(
    Type.Array(StringEnum(EFFORTS), {
      minItems: 1,
      description: `Supported reasoning efforts, lowest first. Default: ${byDefault}.`,
    }),
  )

export const OPENAI_QUIRKS = StrictObject({
  responses: Type.Optional(
    Type.Union([Type.Boolean(), Type.Literal('always')], {
      description:
        'True if tools with reasoning, and the effort max, are taken in the Responses API only; always if ' +
        'every request is.',
    }),
  ),
  efforts: efforts('all'),
})

export const ANTHROPIC_QUIRKS = StrictObject({
  thinking: Type.Optional(
    StringEnum(['effort', 'budget'], {
      description: 'How thinking is requested: by effort (the default), or by a token budget.',
    }),
  ),
  thinking_off: Type.Optional(
    StringEnum(['disabled', 'between_tools'], {
      description: 'How thinking is switched off, if that is possible.',
    }),
  ),
  efforts: efforts('all'),
})

export const GEMINI_QUIRKS = StrictObject({ efforts: efforts('low to high') })

export const MISTRAL_QUIRKS = StrictObject({
  thinking: Type.Optional(
    StringEnum(['effort', 'prompt_mode'], {
      description: 'How thinking is requested: by effort (the default), or by prompt_mode.',
    }),
  ),
  thinking_off: Type.Optional(
    StringEnum(['disabled'], { description: 'Set if thinking can be switched off.' }),
  ),
  efforts: efforts('none'),
})

export const DEEPSEEK_QUIRKS = StrictObject({
  top_p: Type.Optional(
    StringEnum(['thinking', 'plain'], {
      description:
        'The only mode in which top_p has an effect: while thinking, from 0.95 up, or in plain replies.',
    }),
  ),
  thinking_by_alias: Type.Optional(
    Type.Record(Type.String(), StringEnum(['enabled', 'disabled']), {
      description: 'Whether the model thinks by default if one of its aliases is requested.',
    }),
  ),
})

/** The quirks of a model. The cast is safe: they are checked by the schema of the adapter. */
export function quirksOf<Schema extends TObject>(_: Schema, entry: Model | undefined): Static<Schema> {
  return (entry?.quirks ?? {}) as Static<Schema>
}
