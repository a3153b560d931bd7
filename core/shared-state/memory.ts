import { LRUCache } from 'lru-cache'
import type { CounterValue } from '../contract/index.ts'
import { createMemoryReservations } from './memory-reservations.ts'
import { createMemorySets } from './memory-sets.ts'
import type { SharedReservations } from './reservations.ts'
import {
  isSameWindow,
  type SharedCounters,
  type SharedState,
  type SharedStore,
  type WindowCount,
} from './shared-state.ts'

/** Limits a namespace to some 15 MB. When exceeded, the oldest windows are dropped. */
export const MAX_COUNTERS = 100_000

/** Limits the records of all namespaces together, in bytes of JSON. */
export const MAX_RECORD_BYTES = 64 * 1024 * 1024

/** Keeps counters, reservations and records in this process. */
export function createMemorySharedState(): SharedState {
  const counters = new Map<string, SharedCounters>()
  const reservations = new Map<string, SharedReservations>()
  const records = createRecordCache()
  const sets = createMemorySets()
  return {
    counters: (namespace) => getOrCreate(counters, namespace, createMemoryCounters),
    reservations: (namespace) => getOrCreate(reservations, namespace, () => createMemoryReservations()),
    store: (namespace) => createMemoryStore(records, `${namespace}:`),
    sets: (namespace) => sets(`${namespace}:`),
    close: async () => undefined,
  }
}

function getOrCreate<Value>(values: Map<string, Value>, key: string, create: () => Value): Value {
  const known = values.get(key)
  if (known !== undefined) return known
  const created = create()
  values.set(key, created)
  return created
}

interface Window {
  total: number
  /** A `performance.now()` timestamp. */
  endsAt: number
}

interface MemoryCounters extends SharedCounters {
  add(key: string, amount: number, windowSeconds: number): WindowCount
  giveBack(key: string, amount: number, window: number): void
  read(key: string): CounterValue
}

/** Counts synchronously. */
export function createMemoryCounters(): MemoryCounters {
  /** In the order in which the windows began. */
  const windows = new Map<string, Window>()
  let nextSweepSize = 1000

  function open(key: string, endsAt: number, now: number): Window {
    const window = { total: 0, endsAt }
    windows.delete(key)
    windows.set(key, window)
    if (windows.size > nextSweepSize) sweep(now)
    return window
  }

  /** Drops ended windows, and the oldest tenth if there are still too many. Amortized, so cheap. */
  function sweep(now: number): void {
    for (const [key, { endsAt }] of windows) if (now >= endsAt) windows.delete(key)
    if (windows.size >= MAX_COUNTERS) {
      const kept = MAX_COUNTERS * 0.9
      for (const key of windows.keys()) {
        if (windows.size <= kept) break
        windows.delete(key)
      }
    }
    nextSweepSize = Math.min(Math.max(windows.size * 2, 1000), MAX_COUNTERS)
  }

  // Whole milliseconds, so that the difference of two times is exact.
  const currentMs = () => Math.floor(performance.now())

  return {
    add(key, amount, windowSeconds) {
      const now = currentMs()
      let window = windows.get(key)
      if (window === undefined || now >= window.endsAt)
        window = open(key, now + Math.ceil(windowSeconds * 1000), now)
      window.total += amount
      return { total: window.total, resetMs: window.endsAt - now, window: window.endsAt }
    },
    giveBack(key, amount, endsAt) {
      const window = windows.get(key)
      if (window !== undefined && currentMs() < window.endsAt && isSameWindow(window.endsAt, endsAt))
        window.total -= amount
    },
    read(key) {
      const now = currentMs()
      const window = windows.get(key)
      if (window === undefined || now >= window.endsAt) return { total: 0, resetMs: 0 }
      return { total: window.total, resetMs: window.endsAt - now }
    },
  }
}

type RecordCache = LRUCache<string, string>

function createRecordCache(): RecordCache {
  return new LRUCache({
    maxSize: MAX_RECORD_BYTES,
    // Never 0, which the cache refuses.
    sizeCalculation: (json, key) => Buffer.byteLength(json) + key.length,
  })
}

function createMemoryStore(cache: RecordCache, prefix: string): SharedStore {
  return {
    get: (key) => cache.get(prefix + key),
    set: (key, json, ttlSeconds) => void cache.set(prefix + key, json, { ttl: Math.ceil(ttlSeconds * 1000) }),
    delete: (key) => void cache.delete(prefix + key),
  }
}
