import { isJsonObject, type JsonObject, MODE_SPELLINGS, readMode } from '../../core/contract/index.ts'
import { compileCheck } from '../../core/schema.ts'
import { matchLiterals } from '../../core/text/literal.ts'
import type { RoutingInput } from './input.ts'

export type Matcher = (input: RoutingInput) => boolean

/** One key of `match_json` (interface: "match_json conditions"). */
export interface Condition {
  readonly schema: JsonObject
  /** Completes "<name> must be …". */
  readonly says: string
  /** The value as it is stored; as given when left out. */
  normalise?(value: unknown): unknown
  compile(value: unknown): Matcher
  /** What the owner should know about a value that is accepted. */
  remark?(value: unknown): string | undefined
}

const scalar = { type: ['string', 'number', 'boolean'] }

export const CONDITIONS: Readonly<Record<string, Condition>> = {
  contains: {
    schema: { type: ['string', 'array'], items: { type: 'string' } },
    says: 'a string or an array of strings',
    compile(value) {
      const entries = readEntries(value)
      if (entries.length === 0) return () => false
      const regex = matchLiterals(entries)
      return ({ texts }) => texts.some((text) => regex.test(text))
    },
    remark: (value) =>
      readEntries(value).length === 0
        ? 'contains has no entry that is not empty: the rule never matches'
        : undefined,
  },
  metadata_equals: {
    schema: { type: 'object', additionalProperties: scalar },
    says: 'an object whose values are strings, numbers or booleans',
    compile(value) {
      const wanted = Object.entries(isJsonObject(value) ? value : {})
      return ({ metadata }) =>
        wanted.every(([key, value]) => Object.hasOwn(metadata, key) && equals(metadata[key], value))
    },
  },
  mode: {
    schema: { type: 'string', pattern: `^(${MODE_SPELLINGS.map(anyCase).join('|')})$` },
    says: `one of ${MODE_SPELLINGS.join(', ')}`,
    normalise: (value) => readMode(String(value)),
    compile: (value) => (input) => input.mode === value,
  },
  task: {
    schema: { type: 'string' },
    says: 'a string',
    compile: (value) => (input) => equals(input.metadata.task, value),
  },
}

const checks = new Map(Object.entries(CONDITIONS).map(([name, { schema }]) => [name, compileCheck(schema)]))

/** What is wrong with a `match_json`, and what it is as stored. A misspelt condition would match everything: it is a fault. */
export function readConditions(match: JsonObject): { value: JsonObject } | { faults: readonly string[] } {
  const faults: string[] = []
  const value: Record<string, unknown> = {}
  for (const [name, given] of Object.entries(match)) {
    const condition = Object.hasOwn(CONDITIONS, name) ? CONDITIONS[name] : undefined
    if (condition === undefined) {
      faults.push(`${name} is not a condition. Known are ${Object.keys(CONDITIONS).join(', ')}.`)
    } else if (checks.get(name)?.(given)) {
      value[name] = condition.normalise ? condition.normalise(given) : given
    } else {
      faults.push(`${name} must be ${condition.says}.`)
    }
  }
  return faults.length > 0 ? { faults } : { value }
}

/** All conditions must hold; none at all holds always. */
export function compileConditions(match: JsonObject): Matcher {
  const matchers = Object.entries(match).map(
    ([name, value]) => CONDITIONS[name]?.compile(value) ?? (() => false),
  )
  return (input) => matchers.every((matches) => matches(input))
}

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
