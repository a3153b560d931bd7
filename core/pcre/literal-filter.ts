import { createCooperativeYield } from '../util/cooperative-yield.ts'
import { MIN_LITERAL_LENGTH } from './required-literal.ts'

/** Finds the groups of literals of which one occurs in a text. */
export interface LiteralFilter {
  /** Marks the groups of the literals in the UTF-8 text; all groups if it cannot tell. */
  mark(text: Uint8Array, isMarked: Uint8Array): void
}

/** A literal that is looked up by four of its bytes, its key. */
interface Entry {
  /** In lower case; undefined stands for every text with the key. */
  readonly bytes: Uint8Array | undefined
  /** Index of the key's last byte in the literal. */
  readonly keyEnd: number
  readonly groups: Set<number>
}

/** More literals with the same key are not told apart, so that a hit costs little. */
const MAX_ENTRIES_PER_KEY = 8

const TABLE_BITS = 16

/** K (Kelvin) and ſ, which match ASCII letters when case is ignored. */
const FOLDING_TO_ASCII = [Buffer.from('\u212a'), Buffer.from('\u017f')]

const LOWER_CASE = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
)

/**
 * Builds a filter for literals in lower case ASCII, each with the number of its group. One pass over a text
 * looks up the last four bytes at each position, whatever the number of literals. Builds in time slices. See
 * docs/decisions/firewall.md, "Literals choose the automata to search".
 */
export async function createLiteralFilter(
  literals: readonly (readonly [literal: string, group: number])[],
): Promise<LiteralFilter> {
  const slice = createCooperativeYield(3)
  const entries = new Map<number, Map<string, Entry>>()
  const table = new Uint8Array(1 << TABLE_BITS)
  const encoded = literals.map(([literal, group]) => ({ literal, group, bytes: Buffer.from(literal) }))
  const frequencies = new Map<number, number>()
  for (const { bytes } of encoded) {
    if (slice.isDue()) await slice.yieldNow()
    countKeys(bytes, frequencies)
  }
  for (const { literal, group, bytes } of encoded) {
    if (slice.isDue()) await slice.yieldNow()
    const keyEnd = findRarestKey(bytes, frequencies)
    const key = keyAt(bytes, keyEnd)
    table[slotOf(key)] = 1
    const known = entries.get(key) ?? new Map<string, Entry>()
    entries.set(key, known)
    addEntry(known, literal, { bytes, keyEnd, groups: new Set([group]) })
  }
  const found = new Map([...entries].map(([key, known]) => [key, [...known.values()]]))

  function mark(text: Uint8Array, isMarked: Uint8Array): void {
    let key = 0
    let seen = 0
    for (let i = 0; i < text.length; i++) {
      const byte = LOWER_CASE[text[i] as number] as number
      seen |= byte
      key = (key << 8) | byte
      if (table[slotOf(key)] === 0) continue
      for (const { bytes, keyEnd, groups } of found.get(key) ?? [])
        if (bytes === undefined || isAt(text, i - keyEnd, bytes))
          for (const group of groups) isMarked[group] = 1
    }
    if (seen < 0x80) return
    const view = Buffer.from(text.buffer, text.byteOffset, text.length)
    if (FOLDING_TO_ASCII.some((letter) => view.includes(letter))) isMarked.fill(1)
  }
  return { mark }
}

function addEntry(known: Map<string, Entry>, literal: string, entry: Entry): void {
  const same = known.get('') ?? known.get(literal)
  if (same !== undefined) for (const group of entry.groups) same.groups.add(group)
  else if (known.size < MAX_ENTRIES_PER_KEY) known.set(literal, entry)
  else {
    const groups = new Set([entry, ...known.values()].flatMap((other) => [...other.groups]))
    known.clear()
    known.set('', { bytes: undefined, keyEnd: 0, groups })
  }
}

function countKeys(bytes: Buffer, frequencies: Map<number, number>): void {
  for (let end = MIN_LITERAL_LENGTH - 1; end < bytes.length; end++) {
    const key = keyAt(bytes, end)
    frequencies.set(key, (frequencies.get(key) ?? 0) + 1)
  }
}

/** Returns the end of the key that the fewest literals have: not that of `.com`, if there are many. */
function findRarestKey(bytes: Buffer, frequencies: ReadonlyMap<number, number>): number {
  let best = bytes.length - 1
  for (let end = MIN_LITERAL_LENGTH - 1; end < bytes.length; end++)
    if (frequencyAt(bytes, end, frequencies) < frequencyAt(bytes, best, frequencies)) best = end
  return best
}

function frequencyAt(bytes: Buffer, end: number, frequencies: ReadonlyMap<number, number>): number {
  return frequencies.get(keyAt(bytes, end)) ?? 0
}

function keyAt(bytes: Buffer, end: number): number {
  return bytes.readInt32BE(end - MIN_LITERAL_LENGTH + 1)
}

function slotOf(key: number): number {
  return Math.imul(key, 0x9e3779b1) >>> (32 - TABLE_BITS)
}

/** Whether the bytes are at an index of the text, ignoring the case of ASCII letters. */
function isAt(text: Uint8Array, start: number, bytes: Uint8Array): boolean {
  if (start < 0 || start + bytes.length > text.length) return false
  for (let i = 0; i < bytes.length; i++) if (LOWER_CASE[text[start + i] as number] !== bytes[i]) return false
  return true
}
