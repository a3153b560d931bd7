import { LRUCache } from 'lru-cache'
import { isJsonObject, type JsonObject, type RecordStore } from '../../core/contract/index.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'
import type { RememberedTurn } from './kept-model.ts'

/** Conversations that a process remembers by itself. Others are read from the shared store. */
const MAX_RECENT = 10_000

/**
 * The last turn of each conversation. A process reads the shared store only for conversations that it does
 * not remember itself, so it may know an earlier turn than another process does: its prefix is shorter, and
 * the estimate of what is cached too low.
 */
export class Conversations {
  readonly #recent = new LRUCache<string, RememberedTurn>({ max: MAX_RECENT })
  readonly #store: Pick<RecordStore, 'get' | 'set'>
  readonly #seconds: number

  constructor(store: Pick<RecordStore, 'get' | 'set'>, seconds: number) {
    this.#store = store
    this.#seconds = seconds
  }

  /** Returns the last turn; undefined if it is too old, or the store is unavailable. */
  find(key: string): MaybePromise<RememberedTurn | undefined> {
    const recent = this.#recent.get(key)
    if (recent !== undefined && this.#isFresh(recent)) return recent
    return this.#store.get(key).then((value) => this.#read(key, value), noTurn)
  }

  /** Without the store, the other processes choose as for a new conversation. */
  remember(keys: readonly string[], turn: RememberedTurn): void {
    for (const key of keys) {
      this.#recent.set(key, turn)
      this.#store.set(key, turn as unknown as JsonObject, this.#seconds).catch(noTurn)
    }
  }

  #read(key: string, value: unknown): RememberedTurn | undefined {
    if (!isTurn(value) || !this.#isFresh(value)) return undefined
    this.#recent.set(key, value)
    return value
  }

  #isFresh({ at }: RememberedTurn): boolean {
    return Date.now() - at < this.#seconds * 1000
  }
}

const noTurn = () => undefined

/** A process of another version may have written it. */
function isTurn(value: unknown): value is RememberedTurn {
  if (!isJsonObject(value)) return false
  const { mode, provider, model, input, estimated, cached, at } = value
  return [mode, provider, model].every(isText) && [input, estimated, cached, at].every(Number.isFinite)
}

const isText = (value: unknown) => typeof value === 'string'
