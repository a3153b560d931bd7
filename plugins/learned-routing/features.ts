import { type FeatureKey, hashPair, hashUnits } from './keyed-hash.ts'
import { describeUnit, UnitKind } from './unit-kinds.ts'

/** Words and pairs of words fall into this many buckets. */
export const BUCKETS = 65_536

/** What is read at the beginning and at the end of a message, in UTF-16 code units. */
export const WINDOW_UNITS = 8192

/** A system prompt is identified by its length and by this much of its beginning and end. */
const SYSTEM_PROMPT_UNITS = 1024

export interface PromptText {
  readonly lastUserMessage: string
  readonly systemPrompt?: string | undefined
}

/**
 * What is kept of a prompt: no text, but which buckets its words and pairs of words fall into, and ten
 * numbers. See docs/decisions/learned-routing.md, "Features are keyed hashes".
 */
export interface PromptFeatures {
  /** Distinct, in order of appearance. */
  readonly indices: Uint16Array
  /** As `NUMBER_NAMES` lists them, each about 0 to 15. */
  readonly numbers: Float32Array
}

export const NUMBER_NAMES = [
  'length',
  'words',
  'word_length',
  'capitals',
  'digits',
  'symbols',
  'lines',
  'questions',
  'non_ascii',
  'repeated_words',
] as const

// Reused for every prompt, so that extraction allocates only its result.
const ascii = Uint32Array.from({ length: 128 }, (_, unit) => describeUnit(unit))
const isFound = new Uint8Array(BUCKETS)
const found = new Uint16Array(BUCKETS)
const word = new Uint16Array(2 * WINDOW_UNITS)
/** The text that is read: units of an array are read several times as fast as those of a string. */
const textBytes = Buffer.alloc(4 * WINDOW_UNITS)
const units = new Uint16Array(textBytes.buffer, textBytes.byteOffset, 2 * WINDOW_UNITS)
let foundCount = 0

/** Counts of the prompt that is being read. */
const counts = {
  words: 0,
  letters: 0,
  capitals: 0,
  digits: 0,
  symbols: 0,
  lines: 0,
  questions: 0,
  nonAscii: 0,
}

export function extractFeatures(
  { lastUserMessage, systemPrompt }: PromptText,
  key: FeatureKey,
): PromptFeatures {
  foundCount = 0
  for (const name in counts) counts[name as keyof typeof counts] = 0
  const { length } = lastUserMessage
  if (length <= 2 * WINDOW_UNITS) {
    scan(lastUserMessage, key)
  } else {
    scan(lastUserMessage.slice(0, WINDOW_UNITS), key)
    scan(lastUserMessage.slice(-WINDOW_UNITS), key)
  }
  const numbers = toNumbers(length)
  if (systemPrompt) addBucket(hashSystemPrompt(systemPrompt, key))
  const indices = found.slice(0, foundCount)
  for (let at = 0; at < foundCount; at++) isFound[found[at] as number] = 0
  return { indices, numbers }
}

/** Notes the words and pairs of words of a text, and counts characters of each kind. */
function scan(text: string, key: FeatureKey): void {
  const end = text.length
  textBytes.write(text, 'utf16le')
  let length = 0
  let previous = 0
  let capitals = 0
  let digits = 0
  let symbols = 0
  let nonAscii = 0
  for (let at = 0; at < end; at++) {
    const unit = units[at] as number
    let described: number
    if (unit < 128) {
      described = ascii[unit] as number
    } else {
      described = describeUnit(unit)
      nonAscii++
    }
    const kind = described >>> 16
    if (kind <= UnitKind.digit) {
      word[length++] = described
      if (kind === UnitKind.digit) digits++
      else if (kind === UnitKind.capital) capitals++
      continue
    }
    if (length > 0) {
      previous = addWord(length, previous, key)
      length = 0
    }
    if (kind === UnitKind.symbol) {
      symbols++
      if (unit === 0x3f || unit === 0xff1f) counts.questions++
    } else if (kind !== UnitKind.space) {
      word[0] = unit
      const isPair = kind === UnitKind.surrogate && at + 1 < end && isSurrogatePair(unit, units[at + 1])
      if (isPair) word[1] = units[++at] as number
      previous = addWord(isPair ? 2 : 1, previous, key)
    } else if (unit === 10) {
      counts.lines++
    }
  }
  if (length > 0) addWord(length, previous, key)
  counts.capitals += capitals
  counts.digits += digits
  counts.symbols += symbols
  counts.nonAscii += nonAscii
}

function isSurrogatePair(unit: number, next: number | undefined): boolean {
  return unit < 0xdc00 && ((next as number) & 0xfc00) === 0xdc00
}

/** Notes the word in `word` and its pair with the previous one. Returns its hash. */
function addWord(length: number, previous: number, key: FeatureKey): number {
  counts.words++
  counts.letters += length
  const hash = hashUnits(word, length, key)
  addBucket(hash)
  if (previous !== 0) addBucket(hashPair(previous, hash))
  return hash
}

function addBucket(hash: number): void {
  const bucket = hash >>> 16
  if (isFound[bucket] === 1) return
  isFound[bucket] = 1
  found[foundCount++] = bucket
}

/** Amounts as logarithms, shares as four times their root, so that all have about the same range. */
function toNumbers(length: number): Float32Array {
  const { words, letters, capitals, digits, symbols, lines, questions, nonAscii } = counts
  const read = Math.max(1, Math.min(length, 2 * WINDOW_UNITS))
  return Float32Array.of(
    Math.log2(1 + length),
    Math.log2(1 + words),
    letters / Math.max(1, words),
    4 * Math.sqrt(capitals / read),
    4 * Math.sqrt(digits / read),
    4 * Math.sqrt(symbols / read),
    Math.log2(1 + lines),
    Math.log2(1 + questions),
    4 * Math.sqrt(nonAscii / read),
    words === 0 ? 0 : 4 * (1 - foundCount / (2 * words)),
  )
}

/** Long prompts of systems differ in their length, beginning or end. */
function hashSystemPrompt(text: string, key: FeatureKey): number {
  const { length } = text
  const half = Math.min(length, SYSTEM_PROMPT_UNITS)
  let size = 0
  for (let at = 0; at < half; at++) word[size++] = text.charCodeAt(at)
  for (let at = length - half; at < length; at++) word[size++] = text.charCodeAt(at)
  word[size++] = length & 0xffff
  word[size++] = length >>> 16
  // Starts with a space, which no word does.
  return hashPair(hashUnits(word, size, key), 0x20)
}
