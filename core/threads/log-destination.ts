import { writeSync, write as writeToFile } from 'node:fs'
import { endIfThreadsAreStuck, noteStuckThread } from './thread.ts'

interface LogDestinationOptions {
  /** Other processes write to the same file. */
  readonly isShared: boolean
  /** Lines are dropped while more than this many bytes wait for a slow reader. */
  readonly maxBufferedBytes?: number
  /** Called with the number of dropped lines when lines can be written again. */
  readonly onDropped?: (lines: number, reason: string) => void
  /** Replaces `fs.write`. */
  readonly write?: typeof writeToFile
}

/**
 * Maximum size of a write. POSIX guarantees that writes of up to `PIPE_BUF` bytes to a pipe (4096 on Linux)
 * do not mix with those of other processes.
 */
const MAX_WRITE_BYTES = { exclusive: 65_536, shared: 4096 }

/** Lines of about 150,000 requests. */
const MAX_BUFFERED_BYTES = 32 * 1024 * 1024

/** How long a line waits for others: a write wakes a thread and the reader of the log. */
const FLUSH_DELAY_MS = 20

/** Pause before another attempt if the reader of a non-blocking pipe is slow. */
const RETRY_MS = 100

/** How long the end of the process waits for the reader of the log. */
const END_TIMEOUT_MS = 2000

/** A write that takes longer is stuck: nobody reads the pipe. */
const STUCK_MS = 500

const NEWLINE = 10

/** Destinations with lines that are not written yet. */
const unwritten = new Set<LogDestination>()

let isStuck = false
let droppedTotal = 0

/** The number of log lines of this process that were dropped. */
export function countDroppedLogLines(): number {
  return droppedTotal
}

/** Whether the log could not be written before the end of the process. Nothing else can be, then. */
export function isLogStuck(): boolean {
  return isStuck
}

/** Waits until all lines are written, for a limited time. Lines that could not be written are dropped. */
export async function flushLogs(): Promise<void> {
  await Promise.all([...unwritten].map((destination) => destination.flush()))
}

process.on('exit', () => {
  for (const destination of unwritten) destination.flushAtExit()
  if (isStuck) endIfThreadsAreStuck()
})

/**
 * A destination for log lines that never fails and never blocks the event loop. Lines are collected for some
 * milliseconds and written together, because a write per line costs more than the rest of logging. Lines that
 * cannot be written are dropped and counted. What is buffered is written when the process exits.
 */
export class LogDestination {
  readonly #fd: number
  readonly #maxWrite: number
  readonly #maxBuffered: number
  readonly #onDropped: (lines: number, reason: string) => void
  readonly #write: typeof writeToFile
  #collected = ''
  #collectedBytes = 0
  #timer: NodeJS.Timeout | undefined
  #queue: Buffer[] = []
  #queuedBytes = 0
  /** When the write in flight began, in milliseconds of `performance.now`. */
  #writingSince: number | undefined
  /** The last write ended within a line. */
  #isWithinLine = false
  /** The first chunk of the queue is the rest of one that was written in part. */
  #isContinued = false
  #dropped = 0
  #dropReason = ''
  #onIdle: (() => void) | undefined

  constructor(fd: number, options: LogDestinationOptions) {
    this.#fd = fd
    this.#maxWrite = options.isShared ? MAX_WRITE_BYTES.shared : MAX_WRITE_BYTES.exclusive
    this.#maxBuffered = options.maxBufferedBytes ?? MAX_BUFFERED_BYTES
    this.#onDropped = options.onDropped ?? (() => undefined)
    this.#write = options.write ?? writeToFile
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line)
    if (this.#collectedBytes + bytes > this.#maxWrite) this.#enqueue()
    this.#collected += line
    this.#collectedBytes += bytes
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(this.#enqueue, FLUSH_DELAY_MS).unref()
    unwritten.add(this)
  }

  /** Resolves when everything is written, or dropped after a timeout. */
  async flush(): Promise<void> {
    this.#enqueue()
    if (this.#queue.length === 0) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve
      timer = setTimeout(() => {
        isStuck = true
        if (this.#writingSince !== undefined) noteStuckThread()
        this.#dropQueue('the reader is too slow')
        resolve()
      }, END_TIMEOUT_MS)
    })
    clearTimeout(timer)
  }

  /** Writes synchronously what is buffered, unless nobody reads. */
  flushAtExit(): void {
    this.#enqueue()
    if (this.#writingSince !== undefined) {
      if (performance.now() - this.#writingSince > STUCK_MS) {
        isStuck = true
        noteStuckThread()
      }
      // The first chunk is being written.
      this.#queue.shift()
    }
    const giveUpAt = performance.now() + END_TIMEOUT_MS
    for (const chunk of isStuck ? [] : this.#queue) writeChunk(this.#fd, chunk, giveUpAt)
    this.#queue = []
  }

  readonly #enqueue = (): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#collected === '') return
    const chunk = Buffer.from(this.#collected)
    this.#collected = ''
    this.#collectedBytes = 0
    if (isStuck || this.#queuedBytes + chunk.length > this.#maxBuffered + this.#maxWrite) {
      this.#drop(chunk, 'the reader is too slow')
      return
    }
    this.#queue.push(chunk)
    this.#queuedBytes += chunk.length
    this.#writeNext()
  }

  readonly #writeNext = (): void => {
    const [chunk] = this.#queue
    if (this.#writingSince !== undefined || chunk === undefined) return
    this.#writingSince = performance.now()
    const isTorn = this.#isWithinLine && !this.#isContinued
    const bytes = isTorn ? Buffer.concat([Buffer.of(NEWLINE), chunk]) : chunk
    this.#write(this.#fd, bytes, 0, bytes.length, null, (error, written) => {
      this.#writingSince = undefined
      if (this.#queue[0] !== chunk) return
      if (error === null) this.#advance(bytes, written)
      else if (error.code === 'EAGAIN' || error.code === 'EBUSY') {
        setTimeout(this.#writeNext, RETRY_MS).unref()
        return
      } else {
        this.#shift()
        this.#isContinued = false
        this.#drop(chunk, error.message)
      }
      this.#writeNext()
      if (this.#queue.length === 0) this.#setIdle(error === null)
    })
  }

  /** Removes from the queue what was written of its first chunk. */
  #advance(bytes: Buffer, written: number): void {
    this.#shift()
    this.#isWithinLine = bytes[written - 1] !== NEWLINE
    this.#isContinued = written < bytes.length
    if (!this.#isContinued) return
    const rest = bytes.subarray(written)
    this.#queue.unshift(rest)
    this.#queuedBytes += rest.length
  }

  #shift(): Buffer | undefined {
    const chunk = this.#queue.shift()
    this.#queuedBytes -= chunk?.length ?? 0
    return chunk
  }

  #setIdle(isWritable: boolean): void {
    if (this.#timer === undefined) unwritten.delete(this)
    this.#onIdle?.()
    const count = this.#dropped
    if (!isWritable || count === 0) return
    this.#dropped = 0
    this.#onDropped(count, this.#dropReason)
  }

  #dropQueue(reason: string): void {
    for (const chunk of this.#queue) this.#drop(chunk, reason)
    this.#queue = []
    this.#queuedBytes = 0
  }

  #drop(chunk: Buffer, reason: string): void {
    let lines = 0
    for (const byte of chunk) if (byte === NEWLINE) lines += 1
    this.#dropped += lines
    droppedTotal += lines
    this.#dropReason = reason
  }
}

/** Writes a chunk or drops it. Retries while a non-blocking pipe is full, until the deadline. */
function writeChunk(fd: number, chunk: Buffer, giveUpAt: number): void {
  for (let start = 0; start < chunk.length; ) {
    try {
      start += writeSync(fd, chunk, start)
    } catch (error) {
      const isBusy = error instanceof Error && 'code' in error && error.code === 'EAGAIN'
      if (!isBusy || performance.now() > giveUpAt) return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}
