import { errorMessage } from '../util/error-message.ts'
import type { MaybePromise } from '../util/maybe-promise.ts'

/** Methods by name, each with its parameters and its result. Both travel as JSON. */
export type MethodTable = Record<string, { readonly params: unknown; readonly result: unknown }>

/**
 * Implements the methods of one end. An error that a handler throws rejects the caller's promise with the
 * same message.
 */
export type RpcHandlers<Table extends MethodTable> = {
  readonly [Method in keyof Table]: (params: Table[Method]['params']) => RpcResult<Table[Method]['result']>
}

type RpcResult<Result> = MaybePromise<Result | MovedResult<Result>>

/** A result with buffers that are moved to another thread instead of copied. */
export class MovedResult<Result> {
  readonly result: Result
  readonly buffers: readonly ArrayBuffer[]

  constructor(result: Result, buffers: readonly ArrayBuffer[]) {
    this.result = result
    this.buffers = buffers
  }
}

/** One end of a connection on which both ends call methods of each other. */
export interface RpcPeer<RemoteMethods extends MethodTable> {
  /**
   * Calls a method of the other end. Rejects with the message and the `code` of the remote error, with an
   * error after `timeoutMs` milliseconds without a response, or with a `ChannelClosedError` once the channel
   * is closed.
   */
  request<Method extends keyof RemoteMethods & string>(
    method: Method,
    params: RemoteMethods[Method]['params'],
    timeoutMs?: number,
  ): Promise<RemoteMethods[Method]['result']>
  /** Calls a method of the other end without waiting. Errors are ignored. */
  notify<Method extends keyof RemoteMethods & string>(
    method: Method,
    params: RemoteMethods[Method]['params'],
  ): void
  /** Sends what would be sent at the end of this turn of the event loop. */
  flush(): void
  /** Rejects every pending request with a `ChannelClosedError`. Nothing is sent afterwards. */
  close(cause?: unknown): void
}

/** Carries messages between the two ends, for example over the IPC channel of a child process. */
export interface RpcTransport {
  /** `moved` are buffers in the message that need not be copied. */
  send(message: unknown, moved?: readonly ArrayBuffer[]): void
  listen(receive: (message: unknown) => void): void
}

/** The other process or thread exited, or the channel was closed. */
export class ChannelClosedError extends Error {
  constructor(cause?: unknown) {
    super('The channel to the other process or thread is closed.', { cause })
    this.name = 'ChannelClosedError'
  }
}

type RpcMessage =
  | { readonly id?: number; readonly method: string; readonly params: unknown }
  | { readonly replyTo: number; readonly result: unknown }
  | { readonly replyTo: number; readonly error: string; readonly code?: string }

interface PendingRequest {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout | undefined
}

/** The property that holds a batch of messages. Other messages on the same transport are ignored. */
const BATCH_KEY = 'signalbox'

/**
 * Creates one end of a connection. Messages of the same turn of the event loop are sent as one batch, because
 * a message over IPC costs far more than its content.
 */
export function createRpcPeer<RemoteMethods extends MethodTable, LocalMethods extends MethodTable>(
  transport: RpcTransport,
  handlers: RpcHandlers<LocalMethods>,
): RpcPeer<RemoteMethods> {
  const pending = new Map<number, PendingRequest>()
  let outgoing: RpcMessage[] = []
  let moved: ArrayBuffer[] = []
  let lastId = 0
  let isClosed = false

  function send(message: RpcMessage): void {
    outgoing.push(message)
    if (outgoing.length === 1) setImmediate(flush)
  }

  function flush(): void {
    if (outgoing.length === 0) return
    const [messages, buffers] = [outgoing, moved]
    outgoing = []
    moved = []
    if (!isClosed) transport.send({ [BATCH_KEY]: messages }, buffers)
  }

  function receive(message: RpcMessage): void {
    if ('method' in message) void respond(message.id, message.method, message.params)
    else if ('error' in message) settle(message.replyTo)?.reject(toError(message))
    else settle(message.replyTo)?.resolve(message.result)
  }

  async function respond(replyTo: number | undefined, method: string, params: unknown): Promise<void> {
    try {
      const result = await handlers[method]?.(params)
      if (replyTo === undefined) return
      if (!(result instanceof MovedResult)) return send({ replyTo, result })
      moved.push(...result.buffers)
      send({ replyTo, result: result.result })
    } catch (error) {
      if (replyTo !== undefined) send({ replyTo, error: errorMessage(error), ...codeOf(error) })
    }
  }

  function settle(id: number): PendingRequest | undefined {
    const found = pending.get(id)
    clearTimeout(found?.timer)
    pending.delete(id)
    return found
  }

  transport.listen((batch) => {
    for (const message of toMessages(batch)) receive(message)
  })

  return {
    request(method, params, timeoutMs) {
      if (isClosed) return Promise.reject(new ChannelClosedError())
      const id = ++lastId
      send({ id, method, params })
      return new Promise((resolve, reject) => {
        const expire = () =>
          settle(id)?.reject(new Error(`Method "${method}" timed out after ${timeoutMs} ms.`))
        const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs)
        pending.set(id, { resolve, reject, timer })
      })
    },
    notify: (method, params) => send({ method, params }),
    flush,
    close(cause) {
      isClosed = true
      for (const id of [...pending.keys()]) settle(id)?.reject(new ChannelClosedError(cause))
    },
  }
}

function codeOf(error: unknown): { readonly code?: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? { code: error.code }
    : {}
}

function toError({ error, code }: { readonly error: string; readonly code?: string }): Error {
  return Object.assign(new Error(error), code !== undefined && { code })
}

function toMessages(batch: unknown): readonly RpcMessage[] {
  if (typeof batch !== 'object' || batch === null || !(BATCH_KEY in batch)) return []
  // Only the other end writes under this key.
  return batch[BATCH_KEY] as readonly RpcMessage[]
}
