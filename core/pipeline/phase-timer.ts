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
  #isPaused = false

  constructor(client: Pick<ClientConnection, 'onAbort'>, limitMs: number, createError: () => Error) {
    this.#client = client
    this.#limitMs = limitMs
    this.#createError = createError
  }

  /** Stops the clock until `resume`, which starts it anew. */
  pause(): void {
    this.#isPaused = true
    clearTimeout(this.#timer)
  }

  resume(): void {
    this.#isPaused = false
    this.#start()
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
    if (this.#expire !== undefined && !this.#isPaused) this.#timer = setTimeout(this.#expire, this.#limitMs)
  }
}
