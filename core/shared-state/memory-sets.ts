import { SharedStateUnavailableError } from '../contract/index.ts'
import type { SharedSets } from './shared-state.ts'

/** Limits the sets of all namespaces together. */
export const MAX_SET_BYTES = 64 * 1024 * 1024

/** What an entry of a `Map` or `Set` takes besides its text, and a `Set` besides its entries. */
const ENTRY_BYTES = 64
const SET_BYTES = 300

/** Expired sets are looked for so often while memory is full. */
const SWEEP_MS = 1000

interface MemorySets extends SharedSets {
  /** Throws a `SharedStateUnavailableError` when memory is full. */
  add(key: string, texts: readonly string[], ttlSeconds: number): readonly string[]
  read(key: string): readonly string[]
}

interface Entry {
  readonly texts: Set<string>
  /** A `performance.now()` timestamp. */
  endsAt: number
}

/** Keeps sets in this process until they expire. Returns those of a namespace by the prefix of its keys. */
export function createMemorySets(maxBytes = MAX_SET_BYTES): (prefix: string) => MemorySets {
  const entries = new Map<string, Entry>()
  let bytes = 0
  let sweptAt = Number.NEGATIVE_INFINITY

  function find(key: string): Entry | undefined {
    const entry = entries.get(key)
    if (entry === undefined || performance.now() < entry.endsAt) return entry
    drop(key, entry)
    return undefined
  }

  function drop(key: string, { texts }: Entry): void {
    entries.delete(key)
    bytes -= bytesOfSet(key) + bytesOf([...texts])
  }

  function sweep(): void {
    const now = performance.now()
    if (now - sweptAt < SWEEP_MS) return
    sweptAt = now
    for (const [key, entry] of entries) if (now >= entry.endsAt) drop(key, entry)
  }

  function add(key: string, added: readonly string[], ttlSeconds: number): readonly string[] {
    const known = find(key)
    const texts = new Set([...(known?.texts ?? []), ...added])
    const more = bytesOf([...texts].slice(known?.texts.size ?? 0)) + (known ? 0 : bytesOfSet(key))
    if (more > 0 && bytes + more > maxBytes) sweep()
    if (more > 0 && bytes + more > maxBytes)
      throw new SharedStateUnavailableError('the memory for sets is full')
    bytes += more
    entries.set(key, { texts, endsAt: performance.now() + ttlSeconds * 1000 })
    return [...texts]
  }

  return (prefix) => ({
    add: (key, texts, ttlSeconds) => add(prefix + key, texts, ttlSeconds),
    read: (key) => [...(find(prefix + key)?.texts ?? [])],
  })
}

function bytesOfSet(key: string): number {
  return SET_BYTES + ENTRY_BYTES + 2 * key.length
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + ENTRY_BYTES + 2 * text.length, 0)
}
