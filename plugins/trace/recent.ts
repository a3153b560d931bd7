/** The last so many values by their keys; keys come once. The oldest goes for each one that is too many. */
export class Recent<Value> {
  readonly #most: number
  /** A ring: what was kept `#most` values ago lies where the next one goes. */
  readonly #keys: string[] = []
  readonly #values = new Map<string, Value>()
  #next = 0

  constructor(most: number) {
    this.#most = most
  }

  keep(key: string, value: Value): void {
    const oldest = this.#keys[this.#next]
    if (oldest !== undefined) this.#values.delete(oldest)
    this.#keys[this.#next] = key
    this.#values.set(key, value)
    this.#next = (this.#next + 1) % this.#most
  }

  find(key: string): Value | undefined {
    return this.#values.get(key)
  }
}
