import type { Worker } from 'node:worker_threads'
import { EventLogUnavailableError } from '../../contract/event-log.ts'
import { startThread } from '../../process/start-thread.ts'
import type { AutoResetEvent } from '../../util/auto-reset-event.ts'
import type { MaybePromise } from '../../util/maybe-promise.ts'
import {
  decodeResult,
  type EncodedRequest,
  encodeRequest,
  type FailedResponse,
  type RequestResult,
  type ResponsesByType,
  type WorkerInput,
  type WorkerOutput,
  type WorkerRequest,
  type WorkerResponse,
} from './worker-protocol.ts'

interface Pending {
  resolve(answer: WorkerResponse): void
  reject(error: EventLogUnavailableError): void
}

/** What is asked in one turn is not all kept back to its end: the worker writes the first while the main thread makes the next. */
const MOST_TOGETHER = 16

/** The main thread's end of a worker. The process stays alive while something is asked or followed, not longer. */
export class SqliteThread {
  readonly #worker: Worker
  readonly #pending = new Map<number, Pending>()
  readonly #followers = new Set<AutoResetEvent>()
  /** In this turn of the event loop. */
  #asked: EncodedRequest[] = []
  #lastId = 0
  #ended: EventLogUnavailableError | undefined

  /** `script` is the module of the worker, beside this one. */
  constructor(script: './history-worker' | './expiring-worker') {
    this.#worker = startThread(script, import.meta.url, { name: script.slice(2) })
    this.#worker.on('message', (message: WorkerOutput) => this.#receive(message))
    this.#worker.on('error', (cause) => this.#die(cause))
    this.#worker.on('exit', () => this.#die())
  }

  /** Resolves with the worker's answer; rejects with `LogUnavailable` when the ask failed or the worker is gone. */
  request<Kind extends WorkerRequest>(ask: Kind): Promise<ResponsesByType[Kind['type']]> {
    if (this.#ended) return Promise.reject(this.#ended)
    const answered = new Promise<WorkerResponse>((resolve, reject) => {
      this.#lastId += 1
      this.#pending.set(this.#lastId, { resolve, reject })
      this.#asked.push(encodeRequest({ id: this.#lastId, request: ask }))
      if (this.#asked.length === 1) setImmediate(() => this.#sendAsked())
      else if (this.#asked.length === MOST_TOGETHER) this.#sendAsked()
    })
    this.#holdProcess()
    // The id ties the answer to the ask, and the worker answers each ask with its own kind.
    return answered as Promise<ResponsesByType[Kind['type']]>
  }

  /** Rings at every commit, by this process or another, and when the thread ends; until `unfollow`. */
  addSubscriber(bell: AutoResetEvent): void {
    this.#followers.add(bell)
    if (this.#followers.size === 1) this.#send('watch')
    this.#holdProcess()
  }

  /** Wakes all followers. */
  wakeSubscribers(): void {
    for (const bell of this.#followers) bell.set()
  }

  removeSubscriber(bell: AutoResetEvent): void {
    this.#followers.delete(bell)
    if (this.#followers.size === 0) this.#send('unwatch')
    this.#holdProcess()
  }

  /** Waits for what was asked before, then ends the worker. */
  async close(): Promise<void> {
    if (this.#ended) return
    const closed = this.request({ type: 'close' })
    this.#ended = new EventLogUnavailableError('the event log is closed')
    this.wakeSubscribers()
    try {
      await closed
    } finally {
      await this.terminate()
    }
  }

  /** Ends the worker where it stands. */
  async terminate(): Promise<void> {
    await this.#worker.terminate()
  }

  #sendAsked(): void {
    const asked = this.#asked
    this.#asked = []
    if (asked.length > 0) this.#send(asked)
  }

  #send(message: WorkerInput): void {
    this.#worker.postMessage(message)
  }

  #receive(message: WorkerOutput): void {
    const replies = message === 'changed' ? [] : message.map(decodeResult)
    for (const reply of replies) this.#settle(reply)
    this.#holdProcess()
    if (message === 'changed' || replies.some(({ response: answer }) => answer.type === 'appended'))
      this.wakeSubscribers()
  }

  #settle({ id, response: answer }: RequestResult): void {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (answer.type === 'failed') pending?.reject(unavailable(answer))
    else pending?.resolve(answer)
  }

  #die(cause?: unknown): void {
    const message = 'the thread of the event log has died'
    this.#ended ??= new EventLogUnavailableError(message, { cause })
    for (const { reject } of this.#pending.values())
      reject(new EventLogUnavailableError(message, { cause, outcomeUnknown: true }))
    this.#pending.clear()
    this.wakeSubscribers()
  }

  #holdProcess(): void {
    if (this.#pending.size + this.#followers.size > 0) this.#worker.ref()
    else this.#worker.unref()
  }
}

function unavailable({ message, code }: FailedResponse): EventLogUnavailableError {
  return new EventLogUnavailableError(`the event log failed: ${message}`, {
    cause: code === undefined ? undefined : Object.assign(new Error(message), { code }),
    diskFull: code === 'SQLITE_FULL',
  })
}

/** A thread that starts when it is first needed. */
export class LazyThread {
  readonly #start: () => Promise<SqliteThread>
  #thread: MaybePromise<SqliteThread> | undefined
  #isClosed = false

  /** `started` is one that is there already. */
  constructor(start: () => Promise<SqliteThread>, started?: SqliteThread) {
    this.#start = start
    this.#thread = started
  }

  /** Rejects with `LogUnavailable` when it cannot be had; the next one who needs it tries again. */
  get(): MaybePromise<SqliteThread> {
    this.#thread ??= this.#startOnce()
    return this.#thread
  }

  /** Waits for a start under way. What never started starts no more. */
  async close(): Promise<void> {
    this.#isClosed = true
    const thread = await this.#startedOrNot()
    await thread?.close()
  }

  async #startedOrNot(): Promise<SqliteThread | undefined> {
    try {
      return await this.#thread
    } catch {
      return undefined
    }
  }

  async #startOnce(): Promise<SqliteThread> {
    if (this.#isClosed) throw new EventLogUnavailableError('the event log is closed')
    try {
      this.#thread = await this.#start()
      return this.#thread
    } catch (error) {
      this.#thread = undefined
      throw error
    }
  }
}
