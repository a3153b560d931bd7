import { EventLogReplacedError, EventLogUnavailableError } from '../../contract/event-log.ts'
import { ChannelClosedError } from '../../threads/rpc.ts'
import { connectThread, type RpcThread, startThread } from '../../threads/thread.ts'
import type { AutoResetEvent } from '../../util/auto-reset-event.ts'
import { createDamagedFileError } from './check-folder.ts'
import { DAMAGE_CODES } from './damaged-files.ts'
import { FILE_REPLACED } from './file-guard.ts'
import type { AppendRequest, AppendResult, SqliteMethods, SqliteOwnerMethods } from './worker-protocol.ts'

/**
 * The main thread's side of a worker. Keeps the process alive only while requests or subscriptions are
 * active.
 */
export class SqliteThread {
  readonly #file: string
  readonly #thread: RpcThread<SqliteMethods>
  readonly #subscribers = new Set<AutoResetEvent>()
  #requests = 0
  #closedError: EventLogUnavailableError | undefined

  /** `file` is the database that the worker will open. */
  constructor(file: string) {
    this.#file = file
    this.#thread = connectThread<SqliteMethods, SqliteOwnerMethods>(
      startThread('./history-worker', import.meta.url, { name: 'history-worker' }),
      {
        changed: () => {
          this.wakeSubscribers()
        },
      },
      () => {
        this.#closedError ??= new EventLogUnavailableError(EXITED)
        this.wakeSubscribers()
      },
    )
  }

  /** Rejects with `EventLogUnavailableError` if the request failed or the worker has exited. */
  async request<Method extends keyof SqliteMethods>(
    method: Method,
    params: SqliteMethods[Method]['params'],
  ): Promise<SqliteMethods[Method]['result']> {
    if (this.#closedError) throw this.#closedError
    this.#requests += 1
    this.#updateRef()
    try {
      return await this.#call(method, params)
    } catch (error) {
      throw toLogError(error, this.#file)
    } finally {
      this.#requests -= 1
      this.#updateRef()
    }
  }

  async append(request: AppendRequest): Promise<AppendResult> {
    const result = await this.request('append', request)
    if ('revision' in result) this.wakeSubscribers()
    return result
  }

  /** Sets the event at every commit of any process, and when the thread ends, until `removeSubscriber`. */
  addSubscriber(committed: AutoResetEvent): void {
    this.#subscribers.add(committed)
    if (this.#subscribers.size === 1) this.#thread.peer.notify('watch', undefined)
    this.#updateRef()
  }

  removeSubscriber(committed: AutoResetEvent): void {
    this.#subscribers.delete(committed)
    if (this.#subscribers.size === 0) this.#thread.peer.notify('unwatch', undefined)
    this.#updateRef()
  }

  wakeSubscribers(): void {
    for (const committed of this.#subscribers) committed.set()
  }

  /** Waits for all earlier requests, then ends the worker. */
  async close(): Promise<void> {
    if (this.#closedError) return
    const closed = this.request('close', undefined)
    this.#closedError = new EventLogUnavailableError('the event log is closed')
    this.wakeSubscribers()
    try {
      await closed
    } finally {
      await this.terminate()
    }
  }

  /** Ends the worker without waiting for requests in flight. */
  terminate(): Promise<void> {
    return this.#thread.terminate()
  }

  #call<Method extends keyof SqliteMethods>(method: Method, params: SqliteMethods[Method]['params']) {
    const response = this.#thread.peer.request(method, params)
    // A reader that processes a page without leaving the turn has asked for the next page before it.
    if (method === 'readLog') this.#thread.peer.flush()
    return response
  }

  #updateRef(): void {
    if (this.#requests + this.#subscribers.size > 0) this.#thread.worker.ref()
    else this.#thread.worker.unref()
  }
}

const EXITED = "the event log's worker thread exited"

/** `error` is that of the worker, with SQLite's code, such as `SQLITE_FULL`, if it is SQLite's. */
function toLogError(error: unknown, file: string): EventLogUnavailableError | EventLogReplacedError {
  if (!(error instanceof Error) || error instanceof ChannelClosedError)
    return new EventLogUnavailableError(EXITED, { cause: error, outcomeUnknown: true })
  const { message } = error
  const code = 'code' in error ? String(error.code) : ''
  if (code === FILE_REPLACED) return new EventLogReplacedError(message)
  const cause = code === '' ? undefined : error
  if (DAMAGE_CODES.test(code)) return createDamagedFileError(file, message, cause)
  return new EventLogUnavailableError(`the event log failed: ${message}`, {
    cause,
    diskFull: code === 'SQLITE_FULL',
  })
}
