import type { ClientConnection } from '../contract/index.ts'

/** How long a phase may still run once its client has disconnected, to clean up, in milliseconds. */
const MAX_ABORTED_MS = 1000

/** Bounds how long a request waits for one phase of a plugin package. */
export class PhaseTimer {
  readonly #client: Pick<ClientConnection, 'onAbort'>
  readonly #createError: () => Error
  #limitMs: number
  #timer: NodeJS.Timeout | undefined
  #expire: (() => void) | undefined
  /** How many promises are pending whose time does not count. */
  #excluded = 0

  constructor(client: Pick<ClientConnection, 'onAbort'>, limitMs: number, createError: () => Error) {
    this.#client = client
    this.#limitMs = limitMs
    this.#createError = createError
  }

  /** Stops the clock while a promise is pending, and then starts it anew. */
  async exclude<Value>(call: () => Promise<Value>): Promise<Value> {
    this.#excluded += 1
    clearTimeout(this.#timer)
    try {
      return await call()
    } finally {
      this.#excluded -= 1
      this.#start()
    }
  }

  /**
   * Resolves or rejects like the promise. Rejects if it is still pending when the time is over, which is
   * shorter if the client disconnects. The phase is not cancelled; its later result is ignored.
   */
  async watch<Value>(promise: PromiseLike<Value>): Promise<Value> {
    const expired = new Promise<never>((_, reject) => {
      this.#expire = () => reject(this.#createError())
    })
    const unsubscribe = this.#client.onAbort(() => {
      this.#limitMs = Math.min(this.#limitMs, MAX_ABORTED_MS)
      this.#start()
    })
    this.#start()
    try {
      return await Promise.race([promise, expired])
    } finally {
      this.#expire = undefined
      clearTimeout(this.#timer)
      unsubscribe()
    }
  }

  #start(): void {
    clearTimeout(this.#timer)
    if (this.#expire !== undefined && this.#excluded === 0)
      this.#timer = setTimeout(this.#expire, this.#limitMs)
  }
}
