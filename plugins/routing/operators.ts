import { LRUCache } from 'lru-cache'
import {
  type Action,
  type Condition,
  isJsonObject,
  MODE_SPELLINGS,
  parseMode,
  type Warning,
} from '../../core/contract/index.ts'

const scalar = { type: ['string', 'number', 'boolean'] }

/** The built-in keys of `match_json` (docs/api.md, "Match conditions"). */
export const builtInConditions: readonly Condition[] = [
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

const text = { type: 'string', minLength: 1 }

/** Made once, so that thousands of requests that are remembered share them. */
const warnings = new LRUCache<string, Warning>({ max: 1000 })

function warningOf(message: string): Warning {
  const known = warnings.get(message)
  if (known !== undefined) return known
  const warning: Warning = { code: 'routing', message }
  warnings.set(message, warning)
  return warning
}

/** The built-in keys of `action_json` (docs/api.md, "Actions"); `set_provider` takes one of the given providers. */
export function createBuiltInActions(providers: ReadonlySet<string>): readonly Action[] {
  return [
    {
      name: 'set_provider',
      schema: { type: 'string', enum: [...providers] },
      description: `one of ${[...providers].join(', ')}`,
      combine: 'first',
      apply(value, draft) {
        draft.provider = String(value)
      },
    },
    {
      name: 'set_model',
      schema: { type: 'string', pattern: '^[!-~]{1,256}$' },
      description: 'the full name of a model',
      combine: 'first',
      apply(value, draft) {
        draft.model = String(value)
      },
    },
    {
      name: 'set_mode',
      schema: { type: 'string', enum: MODE_SPELLINGS },
      description: `one of ${MODE_SPELLINGS.join(', ')}`,
      normalise: (value) => parseMode(String(value)),
      combine: 'first',
      apply(value, draft) {
        const mode = parseMode(String(value))
        if (mode !== undefined) draft.mode = mode
      },
    },
    {
      name: 'add_warning',
      schema: {
        type: ['string', 'object'],
        minLength: 1,
        required: ['message'],
        properties: { message: text },
      },
      description: 'a text or an object {"message": <text>}',
      combine: 'all',
      apply(value, draft) {
        draft.warnings.push(warningOf(isJsonObject(value) ? String(value.message) : String(value)))
      },
    },
  ]
}
