import { MIN_LITERAL_LENGTH } from './required-literal.ts'

/** Literals as the hashes of their runs of four bytes, grouped by the first run: many rules begin alike. */
export interface HashedLiterals {
  readonly firsts: Uint32Array
  /** For each first run, the remaining runs of every literal that begins with it. */
  readonly remainders: readonly (readonly Uint32Array[])[]
}

/** Tells which literals may occur in some texts: a Bloom filter of all their runs of four bytes. */
export interface TextIndex {
  /** Whether one of the literals may occur. False is certain. */
  mayContainAny(literals: HashedLiterals): boolean
}

/** As bits, the table has 32 KiB, the size of a first-level cache. */
const TABLE_BITS = 18

/** There is one table, because building one per request would cost more than filling it. */
const table = new Uint32Array(1 << (TABLE_BITS - 5))

/** K (Kelvin) and ſ, which match ASCII letters when case is ignored. */
const FOLDING_TO_ASCII = [Buffer.from('\u212a'), Buffer.from('\u017f')]

const LOWER_CASE = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
)

/** Hashes literals in lower case ASCII of at least `MIN_LITERAL_LENGTH` characters. */
export function hashLiterals(literals: readonly string[]): HashedLiterals {
  const groups = new Map<number, Uint32Array[]>()
  for (const literal of new Set(literals)) {
    const bytes = Buffer.from(literal)
    const runs = Uint32Array.from({ length: bytes.length - MIN_LITERAL_LENGTH + 1 }, (_, start) =>
      hashOf(bytes.readInt32BE(start)),
    )
    const first = runs[0] as number
    const group = groups.get(first) ?? []
    groups.set(first, group)
    group.push(runs.subarray(1))
  }
  return { firsts: Uint32Array.from(groups.keys()), remainders: [...groups.values()] }
}

/**
 * Indexes UTF-8 texts, ignoring the case of ASCII letters. The index is valid until the next one is built.
 * See docs/decisions/firewall.md, "Literals choose the automata to search".
 */
export function indexTexts(texts: readonly Buffer[]): TextIndex {
  table.fill(0)
  return texts.some(addText) ? CONTAINS_ANYTHING : INDEX
}

const INDEX: TextIndex = {
  mayContainAny({ firsts, remainders }) {
    for (let group = 0; group < firsts.length; group++)
      if (isSet(firsts[group] as number) && remainders[group]?.some((runs) => runs.every(isSet))) return true
    return false
  },
}

const CONTAINS_ANYTHING: TextIndex = { mayContainAny: () => true }

/** Returns whether the text has a character that folds to ASCII, so that its literals cannot be told. */
function addText(text: Buffer): boolean {
  let key = 0
  let seen = 0
  for (let position = 0; position < text.length; position++) {
    const byte = LOWER_CASE[text[position] as number] as number
    seen |= byte
    key = (key << 8) | byte
    const hash = hashOf(key)
    table[hash >>> 5] = (table[hash >>> 5] as number) | (1 << (hash & 31))
  }
  return seen >= 0x80 && FOLDING_TO_ASCII.some((letter) => text.includes(letter))
}

function isSet(hash: number): boolean {
  return ((table[hash >>> 5] as number) & (1 << (hash & 31))) !== 0
}

function hashOf(key: number): number {
  return Math.imul(key, 0x9e3779b1) >>> (32 - TABLE_BITS)
}
