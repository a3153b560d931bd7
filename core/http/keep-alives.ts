/** A stream that is told when it has been silent. */
export interface WatchedStream {
  /** The stream has sent something. */
  noteActivity(): void
  end(): void
}

/** The longest silence is this many ticks. */
const TICKS = 5

/**
 * Notices streams that have sent nothing for a while. All of them share one timer, which runs only while
 * there are streams, so that a record costs no more than setting a number.
 */
export class KeepAlives {
  readonly #tickMs: number
  readonly #streams = new Set<Stream>()
  #timer: NodeJS.Timeout | undefined

  /** Silences are noticed before they have lasted for `maxSilenceMs`, after four fifths at the earliest. */
  constructor(maxSilenceMs: number) {
    this.#tickMs = Math.max(1, Math.floor(maxSilenceMs / TICKS))
  }

  /** Calls `onSilence` after each silence, until the stream ends. `silentMs`: how long it has been silent. */
  watch(onSilence: () => void, silentMs = 0): WatchedStream {
    const stream = new Stream(onSilence, Math.floor(silentMs / this.#tickMs), this.#streams)
    this.#streams.add(stream)
    this.#timer ??= setTimeout(() => this.#tick(), this.#tickMs).unref()
    return stream
  }

  #tick(): void {
    for (const stream of this.#streams) stream.tick()
    if (this.#streams.size > 0) this.#timer?.refresh()
    else this.#timer = undefined
  }
}

class Stream implements WatchedStream {
  #onSilence: () => void
  readonly #streams: Set<Stream>
  #silentTicks: number

  constructor(onSilence: () => void, silentTicks: number, streams: Set<Stream>) {
    this.#onSilence = onSilence
    this.#silentTicks = silentTicks
    this.#streams = streams
  }

  noteActivity(): void {
    this.#silentTicks = 0
  }

  /** Drops the request, which former tables of the old set would keep until a collection of all garbage. */
  end(): void {
    this.#streams.delete(this)
    this.#onSilence = ignore
  }

  tick(): void {
    if (++this.#silentTicks < TICKS) return
    this.#silentTicks = 0
    this.#onSilence()
  }
}

function ignore(): void {}
