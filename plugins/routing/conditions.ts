import { type Condition, isJsonObject, MODE_SPELLINGS, parseMode } from '../../core/contract/index.ts'

const scalar = { type: ['string', 'number', 'boolean'] }

/** The built-in keys of `match_json` (interface: "match_json conditions"). */
export const conditions: readonly Condition[] = [
  {
    name: 'contains',
    schema: { type: ['string', 'array'], items: { type: 'string' } },
    description: 'a string or an array of strings',
    literals: readEntries,
    lint: (value) =>
      readEntries(value).length === 0
        ? 'contains has no entry that is not empty: the rule never matches.'
        : undefined,
  },
  {
    name: 'metadata_equals',
    schema: { type: 'object', additionalProperties: scalar },
    description: 'an object whose values are strings, numbers or booleans',
    matcher(value) {
      const wanted = Object.entries(isJsonObject(value) ? value : {})
      return ({ metadata }) =>
        wanted.every(([key, value]) => Object.hasOwn(metadata, key) && equals(metadata[key], value))
    },
  },
  {
    name: 'mode',
    schema: { type: 'string', pattern: `^(${MODE_SPELLINGS.map(anyCase).join('|')})$` },
    description: `one of ${MODE_SPELLINGS.join(', ')}`,
    normalise: (value) => parseMode(String(value)),
    matcher: (value) => (input) => input.mode === value,
  },
  {
    name: 'task',
    schema: { type: 'string' },
    description: 'a string',
    matcher: (value) => (input) => equals(input.metadata.task, value),
  },
]

function readEntries(value: unknown): readonly string[] {
  return [value].flat().filter((entry): entry is string => typeof entry === 'string' && entry !== '')
}

/** Equal with type, except that a request's text form of a number or boolean equals it: metadata often travels as text. */
function equals(given: unknown, wanted: unknown): boolean {
  return (
    given === wanted || (typeof given === 'string' && typeof wanted !== 'string' && given === String(wanted))
  )
}

function anyCase(word: string): string {
  return [...word].map((letter) => `[${letter}${letter.toUpperCase()}]`).join('')
}
