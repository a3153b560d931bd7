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
  /** Distinct, ascending. */
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

// Reused for every prompt, so that reading one allocates next to nothing.
const ascii = Uint32Array.from({ length: 128 }, (_, unit) => describeUnit(unit))
/** One bit per bucket, and one per 32 buckets; all 0 between two prompts. */
const isFound = new Int32Array(BUCKETS / 32)
const hasFound = new Int32Array(BUCKETS / 1024)
let foundCount = 0
const indices = new Uint16Array(BUCKETS)
const numbers = new Float32Array(NUMBER_NAMES.length)
const word = new Uint16Array(2 * WINDOW_UNITS)
/** The text that is read: units of an array are read several times as fast as those of a string. */
const textBytes = Buffer.alloc(4 * WINDOW_UNITS)
const units = new Uint16Array(textBytes.buffer, textBytes.byteOffset, 2 * WINDOW_UNITS)

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

export function extractFeatures(prompt: PromptText, key: FeatureKey): PromptFeatures {
  const read = scanPrompt(prompt, key)
  return { indices: read.indices.slice(), numbers: read.numbers.slice() }
}

/** As `extractFeatures`, but the next call in the same thread overwrites the arrays of the result. */
export function scanPrompt(prompt: PromptText, key: FeatureKey): PromptFeatures {
  const { lastUserMessage, systemPrompt } = prompt
  const { length } = lastUserMessage
  if (length <= 2 * WINDOW_UNITS) {
    scan(lastUserMessage, key)
  } else {
    scan(lastUserMessage.slice(0, WINDOW_UNITS), key)
    scan(lastUserMessage.slice(-WINDOW_UNITS), key)
  }
  takeNumbers(length)
  if (systemPrompt) addBucket(hashSystemPrompt(systemPrompt, key))
  return { indices: takeBuckets(), numbers }
}

/** Returns the found buckets in ascending order, which takes half of the time of a sort, and forgets them. */
function takeBuckets(): Uint16Array {
  let count = 0
  for (let block = 0; block < hasFound.length; block++) {
    for (let groups = hasFound[block] as number; groups !== 0; groups &= groups - 1) {
      const group = block * 32 + lowestBit(groups)
      for (let bits = isFound[group] as number; bits !== 0; bits &= bits - 1)
        indices[count++] = group * 32 + lowestBit(bits)
      isFound[group] = 0
    }
    hasFound[block] = 0
  }
  foundCount = 0
  return indices.subarray(0, count)
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
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
  const group = bucket >>> 5
  const known = isFound[group] as number
  const added = known | (1 << (bucket & 31))
  if (added === known) return
  isFound[group] = added
  hasFound[group >>> 5] = (hasFound[group >>> 5] as number) | (1 << (group & 31))
  foundCount++
}

/**
 * Computes `numbers` and forgets the counts. Amounts are logarithms, and shares four times their root, so
 * that all have about the same range.
 */
function takeNumbers(length: number): void {
  const { words, letters, capitals, digits, symbols, lines, questions, nonAscii } = counts
  const read = Math.max(1, Math.min(length, 2 * WINDOW_UNITS))
  numbers[0] = Math.log2(1 + length)
  numbers[1] = Math.log2(1 + words)
  numbers[2] = letters / Math.max(1, words)
  numbers[3] = 4 * Math.sqrt(capitals / read)
  numbers[4] = 4 * Math.sqrt(digits / read)
  numbers[5] = 4 * Math.sqrt(symbols / read)
  numbers[6] = Math.log2(1 + lines)
  numbers[7] = Math.log2(1 + questions)
  numbers[8] = 4 * Math.sqrt(nonAscii / read)
  numbers[9] = words === 0 ? 0 : 4 * (1 - foundCount / (2 * words))
  counts.words = 0
  counts.letters = 0
  counts.capitals = 0
  counts.digits = 0
  counts.symbols = 0
  counts.lines = 0
  counts.questions = 0
  counts.nonAscii = 0
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
