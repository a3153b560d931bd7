import type { Counters, RecordStore } from '../contract/index.ts'
import { parseJson } from '../util/json.ts'
import type { SharedState } from './shared-state.ts'

const MAX_KEY_LENGTH = 512

/** In bytes of JSON. */
const MAX_VALUE_BYTES = 1024 * 1024

/** A day more than a leap year, in seconds. */
const MAX_SECONDS = 367 * 24 * 60 * 60

/** Creates `host.counters` and `host.store` of a plugin. They check parameters and have keys of their own. */
export function createPluginServices(
  state: SharedState,
  plugin: string,
): { readonly counters: Counters; readonly store: RecordStore } {
  // Namespaces have no colon, so that no two plugins share a key in Redis.
  const name = plugin.replaceAll('%', '%25').replaceAll(':', '%3A')
  const counters = state.counters(`counters:${name}`)
  const store = state.store(`store:${name}`)
  const sets = state.sets(`sets:${name}`)
  return {
    counters: {
      async add(key, amount, windowSeconds) {
        checkKey(key)
        if (!Number.isFinite(amount)) throw new TypeError(`amount must be a finite number, not ${amount}`)
        checkSeconds('windowSeconds', windowSeconds)
        const { total, resetMs } = await counters.add(key, amount, windowSeconds)
        return { total, resetMs }
      },
      async read(key) {
        checkKey(key)
        return counters.read(key)
      },
    },
    store: {
      async get(key) {
        checkKey(key)
        const json = await store.get(key)
        return json === undefined ? undefined : parseJson(json)
      },
      async set(key, value, ttlSeconds) {
        checkKey(key)
        checkSeconds('ttlSeconds', ttlSeconds)
        await store.set(key, toJson(key, value), ttlSeconds)
      },
      async delete(key) {
        checkKey(key)
        await store.delete(key)
      },
      async addToSet(key, texts, ttlSeconds) {
        checkKey(key)
        checkSeconds('ttlSeconds', ttlSeconds)
        toJson(key, texts)
        return texts.length === 0 ? sets.read(key) : sets.add(key, texts, ttlSeconds)
      },
      async readSet(key) {
        checkKey(key)
        return sets.read(key)
      },
    },
  }
}

function toJson(key: string, value: unknown): string {
  const json: string | undefined = JSON.stringify(value)
  if (json === undefined) throw new TypeError(`the value of "${key}" cannot be stored as JSON`)
  const bytes = Buffer.byteLength(json)
  if (bytes <= MAX_VALUE_BYTES) return json
  throw new RangeError(
    `the value of "${key}" has ${bytes} bytes of JSON; at most ${MAX_VALUE_BYTES} are stored`,
  )
}

function checkKey(key: unknown): void {
  if (typeof key === 'string' && key !== '' && key.length <= MAX_KEY_LENGTH) return
  throw new TypeError(`key must be a string of 1 to ${MAX_KEY_LENGTH} characters`)
}

function checkSeconds(name: string, seconds: number): void {
  if (seconds > 0 && seconds <= MAX_SECONDS) return
  throw new RangeError(`${name} must be more than 0 and at most ${MAX_SECONDS} (367 days), not ${seconds}`)
}
