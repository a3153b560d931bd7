import { LRUCache } from 'lru-cache'
import {
  type Action,
  type Condition,
  isJsonObject,
  MODE_SPELLINGS,
  parseMode,
  StringEnum,
  Type,
  type Warning,
} from '../../core/contract/index.ts'
import { ModelName } from '../../core/dialects/schema-types.ts'
import { requireAction } from './require-action.ts'

/** Longer texts of `contains` would take long to search, and longer warnings would be in every answer. */
const MAX_TEXT_LENGTH = 1000

/** The built-in conditions of `match_json` (docs/api.md, "Match conditions"). */
export const builtInConditions: readonly Condition[] = [
  {
    name: 'contains',
    schema: {
      type: ['string', 'array'],
      maxLength: MAX_TEXT_LENGTH,
      items: { type: 'string', maxLength: MAX_TEXT_LENGTH },
    },
    description: `a string of at most ${MAX_TEXT_LENGTH} characters, or an array of such strings`,
    literals: literalsOf,
    lint: (value) =>
      literalsOf(value).length === 0
        ? 'contains has no non-empty string, so the rule never matches.'
        : undefined,
  },
  {
    name: 'metadata_equals',
    schema: { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
    description: 'an object whose values are strings, numbers or booleans',
    matcher(value) {
      const expected = Object.entries(isJsonObject(value) ? value : {})
      return ({ metadata }) =>
        expected.every(([key, value]) => Object.hasOwn(metadata, key) && equalsMetadata(metadata[key], value))
    },
  },
  {
    name: 'mode',
    schema: Type.String({ pattern: `^(${MODE_SPELLINGS.map(caseInsensitiveSource).join('|')})$` }),
    description: `one of ${MODE_SPELLINGS.join(', ')}`,
    normalize: (value) => parseMode(String(value)),
    matcher: (value) => (input) => input.mode === value,
  },
  {
    name: 'task',
    schema: Type.String(),
    description: 'a string',
    matcher: (value) => (input) => equalsMetadata(input.metadata.task, value),
  },
]

/** The non-empty strings of a value of `contains`. */
function literalsOf(value: unknown): readonly string[] {
  return [value].flat().filter((entry): entry is string => typeof entry === 'string' && entry !== '')
}

/**
 * Compares a metadata value of a request with that of a rule. Types must be equal, but a string also equals
 * the number or boolean that it spells: clients often send all metadata as strings.
 */
function equalsMetadata(actual: unknown, expected: unknown): boolean {
  if (actual === expected) return true
  return typeof actual === 'string' && typeof expected !== 'string' && actual === String(expected)
}

/** A regular expression for a lower-case word in any case; JSON Schema patterns have no flags. */
function caseInsensitiveSource(word: string): string {
  return [...word].map((letter) => `[${letter}${letter.toUpperCase()}]`).join('')
}

/**
 * The built-in actions of `action_json` (docs/api.md, "Actions"). `set_provider` accepts these providers. See
 * docs/decisions/rules.md, "set_provider replaces the requested model, even one of that provider".
 */
export function createBuiltInActions(providers: ReadonlySet<string>): readonly Action[] {
  return [
    {
      name: 'set_provider',
      schema: StringEnum([...providers]),
      description: `one of ${[...providers].join(', ')}`,
      combine: 'first',
      chooses: 'provider',
      apply(value, draft) {
        draft.provider = String(value)
      },
    },
    {
      name: 'set_model',
      schema: ModelName,
      description: 'a model name of 1 to 256 printable ASCII characters without spaces',
      combine: 'first',
      chooses: 'model',
      apply(value, draft) {
        draft.model = String(value)
      },
    },
    {
      name: 'set_mode',
      schema: StringEnum(MODE_SPELLINGS),
      description: `one of ${MODE_SPELLINGS.join(', ')}`,
      normalize: (value) => parseMode(String(value)),
      combine: 'first',
      chooses: 'mode',
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
        maxLength: MAX_TEXT_LENGTH,
        required: ['message'],
        additionalProperties: false,
        properties: {
          message: { type: 'string', minLength: 1, maxLength: MAX_TEXT_LENGTH, description: 'The warning.' },
        },
      },
      description: `a text of 1 to ${MAX_TEXT_LENGTH} characters or an object such as {"message": "text"}`,
      combine: 'all',
      apply(value, draft) {
        draft.warnings.push(warningOf(isJsonObject(value) ? String(value.message) : String(value)))
      },
    },
    requireAction,
  ]
}

/** Warnings by message. They are cached so that the request records kept in memory share them. */
const warnings = new LRUCache<string, Warning>({ max: 1000 })

function warningOf(message: string): Warning {
  const cached = warnings.get(message)
  if (cached !== undefined) return cached
  const warning: Warning = { code: 'routing', message }
  warnings.set(message, warning)
  return warning
}
