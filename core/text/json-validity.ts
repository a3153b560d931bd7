import { parseJson } from '../util/json.ts'

const OBJECT = 0x7b
const OBJECT_END = 0x7d
const LIST = 0x5b
const LIST_END = 0x5d
const COMMA = 0x2c
const COLON = 0x3a
const QUOTE = 0x22

/** A number or a word. */
const LITERAL = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y

/** An escape, or a control character, which a string may not hold. */
const SPECIAL = /\\|[^\u0020-\uffff]/

const TOKENS_PER_STEP = 500

type Expected = 'value' | 'value or end' | 'key' | 'key or end' | 'colon' | 'comma or end' | 'nothing'

/**
 * Tells whether a text is JSON, as `JSON.parse` would, in steps: parsing megabytes at once takes more than
 * ten milliseconds.
 */
export function* isJsonInSteps(source: string): Generator<undefined, boolean> {
  const open: number[] = []
  let expected: Expected = 'value'
  let count = 0
  for (let index = skipSpace(source, 0); index < source.length; index = skipSpace(source, index)) {
    count += 1
    if (count % TOKENS_PER_STEP === 0) yield
    const code = source.charCodeAt(index)
    const isEnd = code === OBJECT_END || code === LIST_END
    if (expected === 'nothing') return false
    if (isEnd) {
      const begin = code === OBJECT_END ? OBJECT : LIST
      const mayEnd =
        expected === 'comma or end' || expected === `${begin === OBJECT ? 'key' : 'value'} or end`
      if (!mayEnd || open.pop() !== begin) return false
      expected = open.length === 0 ? 'nothing' : 'comma or end'
      index += 1
    } else if (expected === 'comma or end') {
      if (code !== COMMA) return false
      expected = open.at(-1) === OBJECT ? 'key' : 'value'
      index += 1
    } else if (expected === 'colon') {
      if (code !== COLON) return false
      expected = 'value'
      index += 1
    } else if (expected === 'key' || expected === 'key or end') {
      index = endOfString(source, index)
      if (index === -1) return false
      expected = 'colon'
    } else if (code === OBJECT || code === LIST) {
      open.push(code)
      expected = code === OBJECT ? 'key or end' : 'value or end'
      index += 1
    } else {
      index = code === QUOTE ? endOfString(source, index) : endOfLiteral(source, index)
      if (index === -1) return false
      expected = open.length === 0 ? 'nothing' : 'comma or end'
    }
  }
  return expected === 'nothing'
}

function skipSpace(source: string, from: number): number {
  let index = from
  while (isSpace(source.charCodeAt(index))) index += 1
  return index
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** -1 if there is no valid string. */
function endOfString(source: string, start: number): number {
  if (source.charCodeAt(start) !== QUOTE) return -1
  const end = findStringEnd(source, start)
  const literal = source.slice(start, end)
  return end === -1 || (SPECIAL.test(literal) && parseJson(literal) === undefined) ? -1 : end
}

/** Returns the index behind the closing quote of the string at `start`; -1 if there is none. */
export function findStringEnd(source: string, start: number): number {
  let end = source.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(source, end)) end = source.indexOf('"', end + 1)
  return end === -1 ? -1 : end + 1
}

function isEscaped(source: string, index: number): boolean {
  let backslashes = 0
  while (source.charCodeAt(index - backslashes - 1) === 0x5c) backslashes += 1
  return backslashes % 2 === 1
}

function endOfLiteral(source: string, start: number): number {
  LITERAL.lastIndex = start
  return LITERAL.test(source) ? LITERAL.lastIndex : -1
}
