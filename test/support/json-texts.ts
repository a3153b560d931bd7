import fc from 'fast-check'
import { createRandom, type Random } from './random.ts'

/** Texts of characters that JSON escapes, or that its own syntax has. */
export const hardText = fc.string({
  unit: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...'ab e.') },
    fc.constantFrom(...'{}[],:"\\/\n\t\u0000\u007f\u2028é世🙂', '\\u0041', '\\n', '": "', '"},"usage":null'),
  ),
  maxLength: 24,
})

/** Any JSON value of which the texts and names are made of these. */
export function jsonValues(text: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      text,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(null, true, false, 0, -1, 1e21),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(text, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }))
  return value
}

/** How a program writes JSON that says the same as what `JSON.stringify` writes. */
export interface JsonStyle {
  readonly seed: number
  /** The share of characters that are escaped without need. */
  readonly escapes: number
  /** The share of numbers that have more digits, or an exponent. */
  readonly digits: number
  /** The share of fields that an object has twice: readers take the last one. */
  readonly repeats: number
  /** What may be around values. */
  readonly blank: string
}

/** As `JSON.stringify`. */
export const PLAIN_STYLE: JsonStyle = { seed: 0, escapes: 0, digits: 0, repeats: 0, blank: '' }

export const jsonStyles: fc.Arbitrary<JsonStyle> = fc.record({
  seed: fc.nat(),
  escapes: fc.constantFrom(0, 0, 0, 0.01, 1),
  digits: fc.constantFrom(0, 0.3),
  repeats: fc.constantFrom(0, 0, 0.02),
  blank: fc.constantFrom('', '', ' ', '\t'),
})

export function writeJson(value: unknown, style: JsonStyle): string {
  return write(value, style, createRandom(style.seed))
}

function write(value: unknown, style: JsonStyle, random: Random): string {
  const { blank } = style
  const writeField = ([name, field]: [string, unknown]) => {
    const colon = `${blank}:${blank}`
    const quoted = writeText(name, style, random)
    const earlier = random.chance(style.repeats) ? `${quoted}${colon}${random.pick(EARLIER)},` : ''
    return `${earlier}${blank}${quoted}${colon}${write(field, style, random)}`
  }
  if (typeof value === 'string') return writeText(value, style, random)
  if (typeof value === 'number') return random.chance(style.digits) ? addDigits(value, random) : `${value}`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value))
    return `[${blank}${value.map((item) => write(item, style, random)).join(`${blank},`)}]`
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return `{${fields.map(writeField).join(`${blank},`)}${blank}}`
}

const EARLIER = ['null', '"earlier"', '[{"role":"user","content":"earlier"}]', '{"a":[1]}', '7']

function writeText(text: string, { escapes }: JsonStyle, random: Random): string {
  if (escapes === 0) return JSON.stringify(text)
  const writeCharacter = (character: string) => {
    if (!random.chance(escapes)) return JSON.stringify(character).slice(1, -1)
    if (character === '/') return '\\/'
    const units = Array.from({ length: character.length }, (_, unit) => character.charCodeAt(unit))
    const digits = units.map((unit) => unit.toString(16).padStart(4, '0'))
    return digits.map((hex) => `\\u${random.chance(0.5) ? hex.toUpperCase() : hex}`).join('')
  }
  return `"${Array.from(text, writeCharacter).join('')}"`
}

function addDigits(number: number, random: Random): string {
  const text = JSON.stringify(number)
  if (text.includes('e')) return text.toUpperCase()
  if (text.includes('.')) return `${text}000`
  return random.pick([`${text}.0`, `${text}e0`, `${text}E+0`, `${text}.0000`])
}
