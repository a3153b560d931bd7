import { endianness } from 'node:os'

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

/** There is one table, because building one per request would cost more than filling it. */
const table = new Uint32Array(1 << (TABLE_BITS - 5))

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
export function indexTexts(texts: readonly Buffer[]): TextIndex {
  if (!IS_LITTLE_ENDIAN) return CONTAINS_ANYTHING
  table.fill(0)
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
    addRun(word)
    addRun((word >>> 16) | (next << 16))
    word = next
  }
  return (seen & HIGH_BITS) === 0
}

function addRun(run: number): void {
  const hash = hashOf(run)
  table[hash >>> 5] = (table[hash >>> 5] as number) | (1 << (hash & 31))
}

function isSet(hash: number): boolean {
  return ((table[hash >>> 5] as number) & (1 << (hash & 31))) !== 0
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
