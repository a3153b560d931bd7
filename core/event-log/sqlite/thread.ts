import type { Worker } from 'node:worker_threads'
import { EventLogReplacedError, EventLogUnavailableError } from '../../contract/event-log.ts'
import { startThread } from '../../threads/thread.ts'
import type { AutoResetEvent } from '../../util/auto-reset-event.ts'
import type { MaybePromise } from '../../util/maybe-promise.ts'
import { createDamagedFileError } from './check-folder.ts'
import { DAMAGE_CODES, type SetAsideFile } from './damaged-files.ts'
import { FILE_REPLACED } from './file-guard.ts'
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

interface ResponseHandlers {
  resolve(response: WorkerResponse): void
  reject(error: EventLogUnavailableError | EventLogReplacedError): void
}

/**
 * Requests of one turn of the event loop are sent in batches of this size, not all at its end: the worker
 * writes the first batch while the main thread prepares the next.
 */
const MAX_BATCH_SIZE = 16

/**
 * The main thread's side of a worker. Keeps the process alive only while requests or subscriptions are
 * active.
 */
export class SqliteThread {
  readonly #worker: Worker
  readonly #pending = new Map<number, ResponseHandlers>()
  readonly #subscribers = new Set<AutoResetEvent>()
  /** Requests of this turn of the event loop that have not been sent yet. */
  #unsent: EncodedRequest[] = []
  #lastId = 0
  #closedError: EventLogUnavailableError | undefined

  readonly #onSetAside: ((file: SetAsideFile) => void) | undefined

  readonly #file: string

  /** `script` is the worker's module, in the same folder; `file` the database that it will open. */
  constructor(
    file: string,
    script: './history-worker' | './expiring-worker',
    onSetAside?: (file: SetAsideFile) => void,
  ) {
    this.#file = file
    this.#onSetAside = onSetAside
    this.#worker = startThread(script, import.meta.url, { name: script.slice(2) })
    this.#worker.on('message', (message: WorkerOutput) => this.#receive(message))
    this.#worker.on('error', (cause) => this.#fail(cause))
    this.#worker.on('exit', () => this.#fail())
  }

  /**
   * Resolves with the worker's response. Rejects with `EventLogUnavailableError` if the request failed or the
   * worker has exited.
   */
  request<Request extends WorkerRequest>(request: Request): Promise<ResponsesByType[Request['type']]> {
    if (this.#closedError) return Promise.reject(this.#closedError)
    const response = new Promise<WorkerResponse>((resolve, reject) => {
      this.#lastId += 1
      this.#pending.set(this.#lastId, { resolve, reject })
      this.#unsent.push(encodeRequest({ id: this.#lastId, request }))
      // A reader that processes a page without leaving the turn has asked for the next page before it.
      if (request.type === 'read-log' || this.#unsent.length === MAX_BATCH_SIZE) this.#sendBatch()
      else if (this.#unsent.length === 1) setImmediate(() => this.#sendBatch())
    })
    this.#updateRef()
    // Safe: the id matches the response to the request, and the worker responds to each request with its own
    // type.
    return response as Promise<ResponsesByType[Request['type']]>
  }

  /** Sets the event at every commit of any process, and when the thread ends, until `removeSubscriber`. */
  addSubscriber(committed: AutoResetEvent): void {
    this.#subscribers.add(committed)
    if (this.#subscribers.size === 1) this.#send('watch')
    this.#updateRef()
  }

  removeSubscriber(committed: AutoResetEvent): void {
    this.#subscribers.delete(committed)
    if (this.#subscribers.size === 0) this.#send('unwatch')
    this.#updateRef()
  }

  wakeSubscribers(): void {
    for (const committed of this.#subscribers) committed.set()
  }

  /** Waits for all earlier requests, then ends the worker. */
  async close(): Promise<void> {
    if (this.#closedError) return
    const closed = this.request({ type: 'close' })
    this.#closedError = new EventLogUnavailableError('the event log is closed')
    this.wakeSubscribers()
    try {
      await closed
    } finally {
      await this.terminate()
    }
  }

  /** Ends the worker without waiting for requests in flight. */
  async terminate(): Promise<void> {
    await this.#worker.terminate()
  }

  #sendBatch(): void {
    const batch = this.#unsent
    this.#unsent = []
    if (batch.length > 0) this.#send(batch)
  }

  #send(message: WorkerInput): void {
    this.#worker.postMessage(message)
  }

  #receive(message: WorkerOutput): void {
    if (typeof message === 'object' && 'movedTo' in message) {
      this.#onSetAside?.(message)
      return
    }
    const results = message === 'changed' ? [] : message.map(decodeResult)
    for (const result of results) this.#settle(result)
    this.#updateRef()
    if (message === 'changed' || results.some(({ response }) => response.type === 'appended'))
      this.wakeSubscribers()
  }

  #settle({ id, response }: RequestResult): void {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (response.type === 'failed') pending?.reject(toLogError(response, this.#file))
    else pending?.resolve(response)
  }

  #fail(cause?: unknown): void {
    const message = "the event log's worker thread exited"
    this.#closedError ??= new EventLogUnavailableError(message, { cause })
    for (const { reject } of this.#pending.values())
      reject(new EventLogUnavailableError(message, { cause, outcomeUnknown: true }))
    this.#pending.clear()
    this.wakeSubscribers()
  }

  #updateRef(): void {
    if (this.#pending.size + this.#subscribers.size > 0) this.#worker.ref()
    else this.#worker.unref()
  }
}

function toLogError(
  { message, code }: FailedResponse,
  file: string,
): EventLogUnavailableError | EventLogReplacedError {
  if (code === FILE_REPLACED) return new EventLogReplacedError(message)
  const cause = code === undefined ? undefined : Object.assign(new Error(message), { code })
  if (code !== undefined && DAMAGE_CODES.test(code)) return createDamagedFileError(file, message, cause)
  return new EventLogUnavailableError(`the event log failed: ${message}`, {
    cause,
    diskFull: code === 'SQLITE_FULL',
  })
}

/** A thread that is started when it is first needed. */
export class LazyThread {
  readonly #start: () => Promise<SqliteThread>
  #thread: MaybePromise<SqliteThread> | undefined
  #isClosed = false

  /** `started` is a thread that is already running. */
  constructor(start: () => Promise<SqliteThread>, started?: SqliteThread) {
    this.#start = start
    this.#thread = started
  }

  /** Rejects with `EventLogUnavailableError` if the thread cannot be started; the next call tries again. */
  get(): MaybePromise<SqliteThread> {
    this.#thread ??= this.#startThread()
    return this.#thread
  }

  /** Waits for a start in progress. A thread that was never started can no longer be started. */
  async close(): Promise<void> {
    this.#isClosed = true
    const thread = await this.#startedThread()
    await thread?.close()
  }

  /** Resolves with undefined if the thread was not started or failed to start. */
  async #startedThread(): Promise<SqliteThread | undefined> {
    try {
      return await this.#thread
    } catch {
      return undefined
    }
  }

  async #startThread(): Promise<SqliteThread> {
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
