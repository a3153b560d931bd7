import type { RecordPattern, ReplyPart } from '../../core/contract/chat.ts'

/** What may stand between the quotation marks of a string in JSON: no control characters, and of escapes only those that JSON knows. */
const STRING = /(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/uy

/** Reads the texts of a stream's records as long as they repeat, and so need not be parsed. It keeps state: one per stream. */
export class RepeatedText {
  /** Of the last record that was read in another way and said nothing but text. */
  pattern: RecordPattern | undefined
  readonly #field: string
  readonly #padding: string | undefined

  /** The names of the field with the text, and of one that holds anything. */
  constructor(field: string, padding?: string) {
    this.#field = field
    this.#padding = padding
  }

  /** The text of a record that repeats an earlier one but for that; undefined of any other, which is then to be learned. */
  read(record: string): string | undefined {
    return this.pattern?.read(record)
  }

  /** `parts` are what the record says. */
  learn(record: string, parts: readonly ReplyPart[]): void {
    if (parts.length === 1 && parts[0]?.type === 'text')
      this.pattern = findPattern(record, this.#field, this.#padding)
  }
}

/**
 * The pattern of a record, which is JSON: the values of `field`, and of `padding` if it has that, may be any strings. Undefined when the
 * record's text does not show where these are, beyond doubt.
 */
export function findPattern(record: string, field: string, padding?: string): RecordPattern | undefined {
  const names = padding === undefined ? [field] : [field, padding]
  const places = names.map((name) => findValue(record, name)).filter((place) => place !== undefined)
  const [first, second] = places
  if (first === undefined || first.field !== field) return undefined
  if (second !== undefined && second.from < first.to) return undefined
  const before = record.slice(0, first.from)
  const between = second && record.slice(first.to, second.from)
  const after = record.slice((second ?? first).to)

  return {
    before,
    after,
    read(other) {
      if (!stands(before, other, 0)) return undefined
      const end = endOfString(other, before.length)
      let to = end
      if (between !== undefined) {
        if (!stands(between, other, end)) return undefined
        to = endOfString(other, end + between.length)
      }
      if (other.length !== to + after.length || !stands(after, other, to)) return undefined
      const text = other.slice(before.length, end)
      return text.includes('\\') ? JSON.parse(`"${text}"`) : text
    },
  }
}

interface Place {
  readonly field: string
  /** Without the quotation marks. */
  readonly from: number
  readonly to: number
}

/** Where the field's string stands; a quotation mark within a string is escaped, so a name that stands there once is the only one. */
function findValue(record: string, field: string): Place | undefined {
  const name = `"${field}"`
  const at = record.indexOf(name)
  if (at === -1 || at !== record.lastIndexOf(name)) return undefined
  const from = at + name.length + 2
  if (record.slice(from - 2, from) !== ':"') return undefined
  return { field, from, to: endOfString(record, from) }
}

/** Whether a part stands at a place of a text. `startsWith` looks at one character after the other: on long parts it takes ten times as long. */
function stands(part: string, text: string, at: number): boolean {
  return text.slice(at, at + part.length) === part
}

function endOfString(text: string, from: number): number {
  STRING.lastIndex = from
  STRING.test(text)
  return STRING.lastIndex
}
