import type { CooperativeYield } from '../util/cooperative-yield.ts'
import { parseJson } from '../util/json.ts'

export const OBJECT = 0x7b
export const OBJECT_END = 0x7d
export const LIST = 0x5b
export const LIST_END = 0x5d
export const COMMA = 0x2c
export const COLON = 0x3a
export const QUOTE = 0x22

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
      const name = readShortString(source, index) ?? (yield* readString(source, index))
      if (name === undefined) return false
      index = name.end
      expected = 'colon'
    } else if (code === OBJECT || code === LIST) {
      open.push(code)
      expected = code === OBJECT ? 'key or end' : 'value or end'
      index += 1
    } else {
      if (code === QUOTE)
        index = (readShortString(source, index) ?? (yield* readString(source, index)))?.end ?? -1
      else index = endOfLiteral(source, index)
      if (index === -1) return false
      expected = open.length === 0 ? 'nothing' : 'comma or end'
    }
  }
  return expected === 'nothing'
}

export function skipSpace(source: string, from: number): number {
  let index = from
  while (isSpace(source.charCodeAt(index))) index += 1
  return index
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** A string of a JSON document. */
export interface JsonString {
  /** The index behind the closing quote. */
  readonly end: number
  readonly text: string
}

/** Longer strings are read and written in pieces. */
const MAX_PIECE = 65_536

/** Reads the string at `start` if it is short and has no escapes. Undefined for all others. */
export function readShortString(source: string, start: number): JsonString | undefined {
  if (source.charCodeAt(start) !== QUOTE) return undefined
  const quote = source.indexOf('"', start + 1)
  if (quote === -1 || quote - start > MAX_PIECE) return undefined
  const text = source.slice(start + 1, quote)
  return SPECIAL.test(text) ? undefined : { end: quote + 1, text }
}

/** Reads the string at `start`, a long one in steps. Undefined if there is no valid string. */
export function* readString(source: string, start: number): Generator<undefined, JsonString | undefined> {
  if (source.charCodeAt(start) !== QUOTE) return undefined
  let text = ''
  for (let from = start + 1; ; ) {
    const piece = source.slice(from, from + MAX_PIECE)
    const quote = findQuote(piece)
    const literal = piece.slice(0, quote === -1 ? endOfEscapes(piece) : quote)
    const decoded = SPECIAL.test(literal) ? parseJson(`"${literal}"`) : literal
    if (typeof decoded !== 'string' || (quote === -1 && piece.length < MAX_PIECE)) return undefined
    text += decoded
    if (quote !== -1) return { end: from + quote + 1, text }
    from += literal.length
    yield
  }
}

/** The index of the first quote that is not escaped; -1 if there is none. */
function findQuote(piece: string): number {
  let quote = piece.indexOf('"')
  while (quote !== -1 && isEscaped(piece, quote)) quote = piece.indexOf('"', quote + 1)
  return quote
}

/** Where a piece of a string ends so that it cuts no escape. */
function endOfEscapes(piece: string): number {
  const last = piece.lastIndexOf('\\')
  return last < piece.length - LONGEST_ESCAPE || isEscaped(piece, last) ? piece.length : last
}

const LONGEST_ESCAPE = '\\u0000'.length

function isEscaped(piece: string, index: number): boolean {
  let backslashes = 0
  while (piece.charCodeAt(index - backslashes - 1) === 0x5c) backslashes += 1
  return backslashes % 2 === 1
}

/** The JSON of a string, a long one in steps. */
export function* writeString(text: string): Generator<undefined, string> {
  if (text.length <= MAX_PIECE) return JSON.stringify(text)
  const pieces: string[] = []
  for (let from = 0; from < text.length; ) {
    const end = from + MAX_PIECE
    const to = isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end
    pieces.push(JSON.stringify(text.slice(from, to)).slice(1, -1))
    from = to
    yield
  }
  return `"${pieces.join('')}"`
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

export function endOfLiteral(source: string, start: number): number {
  LITERAL.lastIndex = start
  return LITERAL.test(source) ? LITERAL.lastIndex : -1
}

/** The replacement of a string, number or key of a JSON document; the same text if it stays. */
type RewriteToken = (text: string) => string

interface RewrittenJson {
  readonly text: string
  /** Two keys of an object became equal, so the document would lose a value. */
  readonly hasKeyCollision: boolean
}

/** Rewritten JSON documents by their source; undefined for a text that is not a JSON document. */
export type RewrittenDocuments = ReadonlyMap<string, RewrittenJson | undefined>

/**
 * Characters of the JSON documents of a request that may be rewritten immediately: about a millisecond.
 * Further ones are rewritten in time slices.
 */
export const MAX_IMMEDIATE_JSON = 40_000

/**
 * Rewrites the strings, numbers and keys of a JSON document in its own text: all other bytes stay. A number
 * that changes becomes a string. Returns undefined if the text is not a JSON object, list or string. See
 * docs/decisions/firewall.md, "JSON in tool calls is masked in its own text".
 */
export function rewriteJsonText(source: string, rewrite: RewriteToken): RewrittenJson | undefined {
  if (!mayBeDocument(source) || parseJson(source) === undefined) return undefined
  return runImmediately(rewriteInSteps(source, rewrite))
}

/** Like `rewriteJsonText`, in time slices. */
export async function rewriteLongJsonText(
  source: string,
  rewrite: RewriteToken,
  slice: CooperativeYield,
): Promise<RewrittenJson | undefined> {
  if (!mayBeDocument(source) || !(await runInSlices(isJsonInSteps(source), slice))) return undefined
  return runInSlices(rewriteInSteps(source, rewrite), slice)
}

export function runImmediately<Result>(steps: Generator<undefined, Result>): Result {
  let step = steps.next()
  while (!step.done) step = steps.next()
  return step.value
}

export async function runInSlices<Result>(
  steps: Generator<undefined, Result>,
  slice: CooperativeYield,
): Promise<Result> {
  let step = steps.next()
  while (!step.done) {
    if (slice.isDue()) await slice.yieldNow()
    step = steps.next()
  }
  return step.value
}

/** `source`: a JSON document. */
function* rewriteInSteps(source: string, rewrite: RewriteToken): Generator<undefined, RewrittenJson> {
  const parts: string[] = []
  let copiedTo = 0
  let hasChangedKey = false
  let count = 0
  for (let start = nextToken(source, 0); start < source.length; ) {
    const isString = source.charCodeAt(start) === QUOTE
    // The cast is safe, because the document is valid.
    const { end, text } = isString
      ? (readShortString(source, start) ?? ((yield* readString(source, start)) as JsonString))
      : readNumber(source, start)
    const rewritten = isString ? rewrite(text) : rewriteNumber(text, rewrite)
    if (rewritten !== text) {
      parts.push(source.slice(copiedTo, start), yield* writeString(rewritten))
      copiedTo = end
      hasChangedKey ||= isString && /^\s*:/.test(source.slice(end, end + 100))
    }
    start = nextToken(source, end)
    count += 1
    if (count % TOKENS_PER_STEP === 0) yield
  }
  if (parts.length === 0) return { text: source, hasKeyCollision: false }
  const text = parts.join('') + source.slice(copiedTo)
  if (!hasChangedKey) return { text, hasKeyCollision: false }
  yield
  const keyCount = yield* countKeys(text)
  return { text, hasKeyCollision: keyCount < (yield* countKeys(source)) }
}

function mayBeDocument(source: string): boolean {
  return /^\s*["[{]/.test(source)
}

/**
 * Some providers receive parsed arguments, so a number is inspected as it is written and in its usual form:
 * `4.1e3` is also `4100`.
 */
function rewriteNumber(text: string, rewrite: RewriteToken): string {
  const rewritten = rewrite(text)
  if (PLAIN_INTEGER.test(text)) return rewritten
  const usual = String(Number(text))
  if (rewritten !== text || usual === text) return rewritten
  const rewrittenUsual = rewrite(usual)
  return rewrittenUsual === usual ? text : rewrittenUsual
}

/** Converting a number to its usual form and back takes ten times as long as this. */
const PLAIN_INTEGER = /^-?[1-9]\d{0,14}$/

const MINUS = 0x2d

/** The index of the next string or number; the length of the text if there is none. */
function nextToken(source: string, from: number): number {
  let index = from
  while (index < source.length && !startsToken(source.charCodeAt(index))) index += 1
  return index
}

function startsToken(code: number): boolean {
  return code === QUOTE || code === MINUS || isDigit(code)
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function readNumber(source: string, start: number): JsonString {
  let end = start + 1
  while (isNumberPart(source.charCodeAt(end))) end += 1
  return { end, text: source.slice(start, end) }
}

/** A digit, or one of `.`, `+`, `-`, `e` and `E`. The document is valid, so nothing else needs a check. */
function isNumberPart(code: number): boolean {
  return isDigit(code) || code === MINUS || code === 0x2b || code === 0x2e || code === 0x65 || code === 0x45
}

/** Counts the different keys of each object. Not recursive, because documents may be deep. */
function* countKeys(json: string): Generator<undefined, number> {
  const pending: unknown[] = [parseJson(json)]
  let count = 0
  for (let visited = 1; pending.length > 0; visited++) {
    const value = pending.pop()
    if (visited % TOKENS_PER_STEP === 0) yield
    if (typeof value !== 'object' || value === null) continue
    const values: readonly unknown[] = Object.values(value)
    if (!Array.isArray(value)) count += values.length
    for (const each of values) pending.push(each)
  }
  return count
}
