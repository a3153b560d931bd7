import { endianness } from 'node:os'
import { lazy } from '../util/lazy.ts'

/** Encodes texts as UTF-8. Passing strings to RE2's binding takes twice as long on 1 KB. */
export function encodeTexts(texts: readonly string[]): readonly Buffer[] {
  return texts.map((text) => Buffer.from(text))
}

function isWorthJoining(texts: readonly string[]): boolean {
  return texts.length >= MIN_JOINED_TEXTS
}

/** Many short texts are first searched as one, for most requests match nothing. */
export function joinTexts(texts: readonly string[]): readonly string[] {
  return isWorthJoining(texts) ? [texts.join('\n')] : texts
}

/** Joining fewer texts saves nothing. */
const MIN_JOINED_TEXTS = 8

/** Beyond this many literals, an automaton finds the rest faster. */
const MAX_LITERALS = 8

/** Searches texts in ASCII for literals without line breaks, ignoring case. */
export class LiteralSearch {
  readonly #texts: readonly string[]
  #lowerCase: string | undefined
  /** What was found so far. */
  readonly #known = new Map<string, boolean>()

  constructor(texts: readonly string[]) {
    this.#texts = texts
  }

  /** `literal` is in lower case. Undefined if too many others have been searched before. */
  contains(literal: string): boolean | undefined {
    const known = this.#known.get(literal)
    if (known !== undefined || this.#known.size >= MAX_LITERALS) return known
    this.#lowerCase ??= this.#texts.join('\n').toLowerCase()
    const isFound = this.#lowerCase.includes(literal)
    this.#known.set(literal, isFound)
    return isFound
  }
}

/**
 * Literals as the hashes of their runs of four bytes, grouped by the first run: many rules begin alike. Each
 * is there twice, with the runs at its even characters and with those at its odd ones.
 */
export interface HashedLiterals {
  readonly firsts: Uint32Array
  /** For each first run, the remaining runs of every literal that begins with it. */
  readonly remainders: readonly (readonly Uint32Array[])[]
}

/** Tells which literals may occur in some texts: a Bloom filter of every second run of four bytes. */
export interface TextIndex {
  /** Whether all characters of the texts are in ASCII. */
  readonly isAscii: boolean
  /** Whether one of the literals may occur. False is certain. */
  mayContainAny(literals: HashedLiterals): boolean
  /** The same for one literal in lower case ASCII of at least `MIN_LITERAL_LENGTH` characters. */
  mayContain(literal: string): boolean
}

/** As bits, the table has 32 KiB, the size of a first-level cache. */
const TABLE_BITS = 18

/** Emptying the whole table would take longer than indexing a short text. */
const SHORT_TEXT = { maxBytes: 2048, tableBits: 14 }

/** There is one table, because building one per request would cost more than filling it. */
const table = new Uint32Array(1 << (TABLE_BITS - 5))

/** The low bits of hashes that the present index does without. */
let ignoredBits = 0

/** K (Kelvin) and ſ, which match ASCII letters when case is ignored. */
const FOLDING_TO_ASCII = [Buffer.from('\u212a'), Buffer.from('\u017f')]

/** Makes letters of both cases equal, for four bytes at once. Some other characters become equal, too. */
const CASE_BITS = 0x20202020

/** Set in the bytes of characters beyond ASCII. */
const HIGH_BITS = 0x80808080

const RUN_LENGTH = 4

/** Every second run is enough to find literals of five characters, and takes half the time. */
const STEP = 2

const IS_LITTLE_ENDIAN = endianness() === 'LE'

/** Hashes literals in lower case ASCII of at least `MIN_LITERAL_LENGTH` characters. */
export function hashLiterals(literals: readonly string[]): HashedLiterals {
  const groups = new Map<number, Uint32Array[]>()
  for (const literal of new Set(literals)) {
    for (const start of [0, 1]) {
      const runs = Uint32Array.from({ length: countRuns(literal, start) }, (_, run) =>
        hashAt(literal, start + run * STEP),
      )
      const first = runs[0] as number
      const group = groups.get(first) ?? []
      groups.set(first, group)
      group.push(runs.subarray(1))
    }
  }
  return { firsts: Uint32Array.from(groups.keys()), remainders: [...groups.values()] }
}

/**
 * Indexes UTF-8 texts, ignoring the case of ASCII letters. The index is valid until the next one is built.
 * See docs/decisions/firewall.md, "Literals choose the automata to search".
 */
function indexTexts(texts: readonly Buffer[]): TextIndex {
  if (!IS_LITTLE_ENDIAN) return CONTAINS_ANYTHING
  let bytes = 0
  for (const { length } of texts) bytes += length
  const tableBits = bytes <= SHORT_TEXT.maxBytes ? SHORT_TEXT.tableBits : TABLE_BITS
  ignoredBits = TABLE_BITS - tableBits
  table.fill(0, 0, 1 << (tableBits - 5))
  let isAscii = true
  for (const text of texts) {
    if (addRuns(text)) continue
    isAscii = false
    if (FOLDING_TO_ASCII.some((letter) => text.includes(letter))) return CONTAINS_ANYTHING
  }
  return isAscii ? ASCII_INDEX : UNICODE_INDEX
}

const UNICODE_INDEX: TextIndex = {
  isAscii: false,
  mayContainAny({ firsts, remainders }) {
    for (let group = 0; group < firsts.length; group++)
      if (isSet(firsts[group] as number) && remainders[group]?.some((runs) => runs.every(isSet))) return true
    return false
  },
  mayContain: (literal) => hasRuns(literal, 0) || hasRuns(literal, 1),
}

const ASCII_INDEX: TextIndex = { ...UNICODE_INDEX, isAscii: true }

const CONTAINS_ANYTHING: TextIndex = { isAscii: false, mayContainAny: () => true, mayContain: () => true }

function hasRuns(literal: string, from: number): boolean {
  for (let start = from; start <= literal.length - RUN_LENGTH; start += STEP)
    if (!isSet(hashAt(literal, start))) return false
  return true
}

function countRuns({ length }: string, start: number): number {
  return Math.floor((length - start - RUN_LENGTH) / STEP) + 1
}

/**
 * Adds every second run of a text, and returns whether it is in ASCII. Reads four bytes at once, which takes
 * half the time of reading each.
 */
function addRuns(text: Buffer): boolean {
  const bytes = text.byteOffset % RUN_LENGTH === 0 ? text : Buffer.from(text)
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2)
  const ignored = ignoredBits
  let tail = 0
  for (let position = bytes.length - 1; position >= words.length * RUN_LENGTH; position--)
    tail = (tail << 8) | (bytes[position] as number)
  let word = words.length > 0 ? (words[0] as number) : tail
  let seen = word | tail
  word |= CASE_BITS
  for (let index = 1; index <= words.length; index++) {
    const read = index < words.length ? (words[index] as number) : tail
    const next = read | CASE_BITS
    seen |= read
    addRun(word, ignored)
    addRun((word >>> 16) | (next << 16), ignored)
    word = next
  }
  return (seen & HIGH_BITS) === 0
}

function addRun(run: number, ignored: number): void {
  const hash = hashOf(run) >>> ignored
  table[hash >>> 5] = (table[hash >>> 5] as number) | (1 << (hash & 31))
}

function isSet(hash: number): boolean {
  const bit = hash >>> ignoredBits
  return ((table[bit >>> 5] as number) & (1 << (bit & 31))) !== 0
}

/** The hash of four ASCII characters. */
function hashAt(text: string, start: number): number {
  const run =
    text.charCodeAt(start) |
    (text.charCodeAt(start + 1) << 8) |
    (text.charCodeAt(start + 2) << 16) |
    (text.charCodeAt(start + 3) << 24)
  return hashOf(run | CASE_BITS)
}

function hashOf(run: number): number {
  return Math.imul(run, 0x9e3779b1) >>> (32 - TABLE_BITS)
}

const MAX_INDEXED_LENGTH = 256_000

/** Texts begin at multiples of it, because the index reads four bytes at once. */
const ALIGNMENT = 4

/**
 * For the texts of one search: new memory takes five times as long to fill. A character has at most three
 * bytes, and texts are there twice, separate and joined.
 */
const memory = lazy(() => Buffer.allocUnsafeSlow((2 * 3 + 2 * ALIGNMENT) * MAX_INDEXED_LENGTH))

/** Texts in the forms that a search of pattern sets needs. Each is made once, when it is needed. */
export class SearchedTexts {
  readonly texts: readonly string[]
  /** In characters. */
  readonly length: number
  /** Whether `joined` differs from `separate`. */
  readonly isJoined: boolean
  /** Long texts have nearly every run of four bytes. */
  readonly isIndexed: boolean
  /** How much of the shared memory is used. */
  private used = 0
  private encodedJoined: readonly Buffer[] | undefined
  private encodedSeparate: readonly Buffer[] | undefined
  private foundIndex: TextIndex | undefined
  private foundLiterals: LiteralSearch | undefined

  constructor(texts: readonly string[]) {
    let length = 0
    for (const text of texts) length += text.length
    this.texts = texts
    this.length = length
    this.isJoined = isWorthJoining(texts)
    this.isIndexed = length <= MAX_INDEXED_LENGTH && texts.length <= MAX_INDEXED_LENGTH
  }

  /** In UTF-8; many short texts as one. Valid until other texts are prepared. */
  joined(): readonly Buffer[] {
    if (!this.isJoined) return this.separate()
    this.encodedJoined ??= this.encode(joinTexts(this.texts))
    return this.encodedJoined
  }

  /** In UTF-8. Valid until other texts are prepared. */
  separate(): readonly Buffer[] {
    this.encodedSeparate ??= this.encode(this.texts)
    return this.encodedSeparate
  }

  /** Undefined for long texts. */
  index(): TextIndex | undefined {
    if (this.isIndexed) this.foundIndex ??= indexTexts(this.joined())
    return this.foundIndex
  }

  literals(): LiteralSearch {
    this.foundLiterals ??= new LiteralSearch(this.texts)
    return this.foundLiterals
  }

  /** Indexed texts are encoded into the shared memory. */
  private encode(texts: readonly string[]): readonly Buffer[] {
    if (!this.isIndexed) return encodeTexts(texts)
    return texts.map((text) => {
      const end = this.used + memory().write(text, this.used)
      const encoded = memory().subarray(this.used, end)
      this.used = Math.ceil(end / ALIGNMENT) * ALIGNMENT
      return encoded
    })
  }
}

let last: SearchedTexts | undefined

/**
 * Prepares texts for a search. The rule sets of policies and of the user search the same texts one after the
 * other, so the last texts are kept.
 */
export function prepareTexts(texts: readonly string[]): SearchedTexts {
  if (last !== undefined && isSameList(last.texts, texts)) return last
  const prepared = new SearchedTexts(texts)
  if (prepared.isIndexed) last = prepared
  return prepared
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, position) => text === b[position])
}
