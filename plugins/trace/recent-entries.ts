/**
 * Keeps the most recent values by key; each value over the capacity replaces the oldest one. All keys are
 * ASCII and of the same length. They are stored in one buffer, which is searched linearly: thousands of
 * values are added for each one that is looked up, so adding must be cheap.
 */
export class RecentEntries<Value> {
  readonly #keyLength: number
  // Both are ring buffers: the next entry overwrites the oldest one.
  readonly #keys: Buffer
  readonly #values: (Value | undefined)[]
  #next = 0

  constructor(capacity: number, keyLength: number) {
    this.#keyLength = keyLength
    this.#keys = Buffer.alloc(capacity * keyLength)
    this.#values = Array.from({ length: capacity }, () => undefined)
  }

  /** Throws if the key does not have the configured length. */
  add(key: string, value: Value): void {
    if (key.length !== this.#keyLength) {
      throw new Error(`expected a key of ${this.#keyLength} characters, not ${key.length}`)
    }
    this.#keys.write(key, this.#next * this.#keyLength, 'latin1')
    this.#values[this.#next] = value
    this.#next = (this.#next + 1) % this.#values.length
  }

  /** Replaces the value of a key; does nothing if there is none. */
  replace(key: string, value: Value): void {
    const index = this.#indexOf(key)
    if (index !== undefined) this.#values[index] = value
  }

  find(key: string): Value | undefined {
    const index = this.#indexOf(key)
    return index === undefined ? undefined : this.#values[index]
  }

  #indexOf(key: string): number | undefined {
    if (key.length !== this.#keyLength) return undefined
    let offset = this.#keys.indexOf(key, 0, 'latin1')
    // A match that does not start at a key boundary spans two keys.
    while (offset % this.#keyLength > 0) offset = this.#keys.indexOf(key, offset + 1, 'latin1')
    return offset === -1 ? undefined : offset / this.#keyLength
  }
}
