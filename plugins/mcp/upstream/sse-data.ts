import { type Bytes, invalidMessage } from './envelope.ts'

/** Lines other than data: names of events, ids, comments. */
const MAX_LINE_BYTES = 64 * 1024

const EMPTY = Buffer.alloc(0)
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const DATA = Buffer.from('data:')
const NEW_LINE = Buffer.from('\n')

/** Reads the data of server-sent events in the pieces in which it arrives: an event may have any length. */
export class SseData {
  readonly #read: () => Promise<Buffer | undefined>
  #pending: Buffer = EMPTY
  /** The last line has ended with a carriage return, of which a line feed is part. */
  #skipsLineFeed = false

  /** `read` returns undefined at the end. */
  constructor(read: () => Promise<Buffer | undefined>) {
    this.#read = read
  }

  /** Returns the data of the next event, which must be read to its end before the next call. */
  async next(): Promise<Bytes | undefined> {
    for (;;) {
      const field = await this.#readField()
      if (field === 'data') return this.#readData()
      if (field === 'end') return undefined
    }
  }

  async *#readData(): Bytes {
    for (;;) {
      const end = findLineEnd(this.#pending)
      if (end === -1) {
        if (this.#pending.length > 0) yield this.#pending
        this.#pending = EMPTY
        if (!(await this.#fill())) return
        continue
      }
      if (end > 0) yield this.#pending.subarray(0, end)
      this.#skipLine(end)
      let field = await this.#readField()
      while (field === 'other') field = await this.#readField()
      if (field !== 'data') return
      yield NEW_LINE
    }
  }

  /** Reads the next line, or of a data line its beginning. */
  async #readField(): Promise<'data' | 'blank' | 'other' | 'end'> {
    for (;;) {
      if (this.#skipsLineFeed && this.#pending.length > 0) {
        this.#skipsLineFeed = false
        if (this.#pending[0] === LINE_FEED) this.#pending = this.#pending.subarray(1)
      }
      // One more byte: the space behind the colon.
      if (this.#pending.length > DATA.length && this.#pending.indexOf(DATA) === 0) {
        this.#pending = this.#pending.subarray(DATA.length + (this.#pending[DATA.length] === 0x20 ? 1 : 0))
        return 'data'
      }
      const end = findLineEnd(this.#pending)
      if (end !== -1) {
        this.#skipLine(end)
        return end === 0 ? 'blank' : 'other'
      }
      if (this.#pending.length > MAX_LINE_BYTES) throw invalidMessage('an event with a line that is too long')
      if (!(await this.#fill())) return 'end'
    }
  }

  #skipLine(end: number): void {
    this.#skipsLineFeed = this.#pending[end] === CARRIAGE_RETURN
    this.#pending = this.#pending.subarray(end + 1)
  }

  async #fill(): Promise<boolean> {
    const chunk = await this.#read()
    if (chunk === undefined) return false
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    return true
  }
}

function findLineEnd(bytes: Buffer): number {
  const feed = bytes.indexOf(LINE_FEED)
  const carriage = bytes.subarray(0, feed === -1 ? bytes.length : feed).indexOf(CARRIAGE_RETURN)
  return carriage === -1 ? feed : carriage
}
