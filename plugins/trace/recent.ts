/**
 * The last so many values by their keys, which are ASCII and of one length; the oldest goes for each one that is too many. Keys lie side by
 * side in a buffer: thousands of values are kept for each one that is ever looked for, so to keep one is to cost little.
 */
export class Recent<Value> {
  readonly #keyLength: number
  /** Both are rings: what was kept as many values ago as there is room for lies where the next one goes. */
  readonly #keys: Buffer
  readonly #values: (Value | undefined)[]
  #next = 0

  constructor(most: number, keyLength: number) {
    this.#keyLength = keyLength
    this.#keys = Buffer.alloc(most * keyLength)
    this.#values = Array.from({ length: most }, () => undefined)
  }

  keep(key: string, value: Value): void {
    if (key.length !== this.#keyLength) throw new Error(`a key of ${key.length} characters cannot be kept`)
    this.#keys.write(key, this.#next * this.#keyLength, 'latin1')
    this.#values[this.#next] = value
    this.#next = (this.#next + 1) % this.#values.length
  }

  find(key: string): Value | undefined {
    if (key.length !== this.#keyLength) return undefined
    let at = this.#keys.indexOf(key, 0, 'latin1')
    // Not the end of one key and the beginning of the next.
    while (at % this.#keyLength > 0) at = this.#keys.indexOf(key, at + 1, 'latin1')
    return at === -1 ? undefined : this.#values[at / this.#keyLength]
  }
}
