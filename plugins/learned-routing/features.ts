import { createHash, createHmac } from 'node:crypto'
import { createSecretFile } from '../../core/secrets/secret-file.ts'
import { decodeGaps, writeGaps } from './encode-numbers.ts'

/** What a UTF-16 code unit is to the features of a prompt. */
const UnitKind = {
  letter: 1,
  capital: 2,
  digit: 3,
  space: 4,
  symbol: 5,
  /** A letter of a script without spaces between words: a word by itself. */
  ideograph: 6,
  /** Half of a character outside the BMP, such as an emoji. */
  surrogate: 7,
} as const

/** By unit: its kind and lower case. 0 until a unit is met, so that a start costs nothing. */
const table = new Uint32Array(65_536)

/** Returns the kind of a unit in the upper 16 bits, and below them its lower case, or `0` for a digit. */
function describeUnit(unit: number): number {
  const known = table[unit] as number
  if (known !== 0) return known
  const described = classify(unit)
  table[unit] = described
  return described
}

const WITHOUT_SPACES =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u

function classify(unit: number): number {
  const text = String.fromCharCode(unit)
  const lower = text.toLowerCase()
  const lowerUnit = lower.length === 1 ? lower.charCodeAt(0) : unit
  const kind = kindOf(unit, text)
  if (kind === UnitKind.digit) return (kind << 16) | 0x30
  return ((kind === UnitKind.letter && lowerUnit !== unit ? UnitKind.capital : kind) << 16) | lowerUnit
}

function kindOf(unit: number, text: string): number {
  if (unit >= 0xd800 && unit <= 0xdfff) return UnitKind.surrogate
  if (/\p{Nd}/u.test(text)) return UnitKind.digit
  if (WITHOUT_SPACES.test(text)) return UnitKind.ideograph
  if (/[\p{L}\p{M}\p{N}]/u.test(text)) return UnitKind.letter
  return /[\s\p{Cc}\p{Cf}]/u.test(text) ? UnitKind.space : UnitKind.symbol
}

/** 64 bits. See docs/decisions/learned-routing.md, "Features are keyed hashes". */
export interface FeatureKey {
  readonly k0: number
  readonly k1: number
}

/** Derives the key of the features from a secret, which cannot be found from the key. */
export function createFeatureKey(secret: string | Uint8Array): FeatureKey {
  const derived = createHmac('sha256', secret).update('signalbox prompt features 1').digest()
  return { k0: derived.readInt32LE(0), k1: derived.readInt32LE(4) }
}

/**
 * HalfSipHash-1-3 of the first `length` UTF-16 code units: a hash with a key, for short inputs, in 32-bit
 * arithmetic. Returns a signed 32-bit number, which V8 keeps without an object on the heap.
 */
export function hashUnits(units: Uint16Array, length: number, { k0, k1 }: FeatureKey): number {
  let v0 = k0
  let v1 = k1
  let v2 = 0x6c796765 ^ k0
  let v3 = 0x74656462 ^ k1
  const last = (length >>> 1) + 1
  for (let block = 0, at = 0; block < last; block++, at += 2) {
    // The last block holds the length in bytes and the odd unit, if there is one.
    const low = at < length ? (units[at] as number) : 0
    const input = at + 1 < length ? low | ((units[at + 1] as number) << 16) : low | (length << 25)
    v3 ^= input
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= input
  }
  v2 ^= 0xff
  for (let round = 0; round < 3; round++) {
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
  }
  return v1 ^ v3
}

/** Mixes the hashes of two words in their order. These are keyed already. */
function hashPair(first: number, second: number): number {
  let mixed = (Math.imul(first, 0x9e3779b1) + second) | 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}

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

/** The first byte of encoded features. A change of what features mean changes it. */
const VERSION = 1
const GAPS_START = 1 + 4 * NUMBER_NAMES.length

// Reused for every prompt, so that encoding allocates only its result.
const encoded = Buffer.alloc(GAPS_START + 3 * BUCKETS)
const encodedView = new DataView(encoded.buffer, encoded.byteOffset, encoded.length)

/** Encodes features: a version, ten floats, and the gaps between the buckets. */
export function encodeFeatures(features: PromptFeatures): Uint8Array {
  return new Uint8Array(encoded.subarray(0, writeFeatures(features)))
}

/** As `encodeFeatures`, as base64: a text is cheaper to create and to collect than an array of bytes. */
export function encodeFeaturesAsText(features: PromptFeatures): string {
  return encoded.toString('base64', 0, writeFeatures(features))
}

/** Fills `encoded`, and returns where the features end. */
function writeFeatures({ indices, numbers }: PromptFeatures): number {
  encoded[0] = VERSION
  for (let at = 0; at < NUMBER_NAMES.length; at++) encodedView.setFloat32(1 + 4 * at, numbers[at] ?? 0, true)
  return writeGaps(indices, encoded, GAPS_START)
}

/** Throws an `EncodedFeaturesError` on bytes that `encodeFeatures` has not made. */
export function decodeFeatures(bytes: Uint8Array): PromptFeatures {
  if (bytes[0] !== VERSION || bytes.length < GAPS_START) {
    throw new EncodedFeaturesError(`Prompt features have an unknown format (${bytes[0] ?? 'empty'}).`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const numbers = Float32Array.from(NUMBER_NAMES, (_, at) => view.getFloat32(1 + 4 * at, true))
  const indices = decodeGaps(bytes.subarray(GAPS_START))
  if (indices === undefined || !numbers.every(Number.isFinite)) {
    throw new EncodedFeaturesError('Prompt features are damaged.')
  }
  return { indices, numbers }
}

export class EncodedFeaturesError extends Error {}

/**
 * The secret that words of prompts are hashed with, so that they cannot be looked up. It is in no event and
 * no export. See docs/decisions/routing.md, "The key of the features is not in the log".
 */
export interface FeatureSecret {
  /** Creates the secret of the data folder if there is none. */
  read(): Buffer
  /** Identifies the secret without revealing it. Versions and features belong to one secret. */
  id(): string
}

export function createFeatureSecret(dataDir: string, configured: string | null | undefined): FeatureSecret {
  const consequence = 'feedback must be collected again, and versions of the router trained again.'
  const file = createSecretFile(dataDir, 'prompt-features.key', consequence)
  const own = configured ? createHash('sha256').update(configured).digest() : undefined
  const read = () => own ?? file.readOrCreate()
  return {
    read,
    id: () => createHmac('sha256', read()).update('id of the features key').digest('hex').slice(0, 16),
  }
}
