import type { Socket } from 'node:net'
import type { buildConnector, Dispatcher, Client as UndiciClient, Pool as UndiciPool } from 'undici'
// By their files: the package's index loads a megabyte of which the gateway uses a quarter.
import Client from 'undici/lib/dispatcher/client.js'
import Pool from 'undici/lib/dispatcher/pool.js'

/** The options of a call, which pool and client pass on. */
export interface CallOptions extends Dispatcher.DispatchOptions {
  call?: { assign(connection: Connection): void }
}

/** How long connections carry one request each after a server has sent bytes that no request asked for. */
const DISTRUST_MS = 10 * 60_000

/** Informational responses before one response may have this many bytes. */
const MAX_INTERIM_BYTES = 64 * 1024

/** `HTTP/1.1 100`: what tells an informational response. */
const STATUS_END = 12

/** What all connections to a server share. */
class Server {
  #distrustedUntil = 0

  get isDistrusted(): boolean {
    return this.#distrustedUntil !== 0 && performance.now() < this.#distrustedUntil
  }

  distrust(): void {
    this.#distrustedUntil = performance.now() + DISTRUST_MS
  }
}

/**
 * A connection that watches what undici reads from it. It skips informational responses, of which undici
 * rejects `100 Continue`, and closes when bytes arrive that no request asked for. See docs/decisions/http.md,
 * "A connection with unread bytes is not used again".
 */
export class Connection {
  readonly #server: Server
  #socket: Socket | undefined
  /** `idle` between requests, `waiting` until the status of a response has arrived, then `reading`. */
  #state: 'idle' | 'waiting' | 'reading' = 'idle'
  #isUsed = false
  #hasSurplus = false
  #interimBytes = 0
  /** The beginning of a head whose status, or whose end if it is informational, has not arrived. */
  #incomplete: Buffer | undefined

  constructor(server: Server) {
    this.#server = server
  }

  /** Returns whether the connection has carried a request before the one that is being written to it. */
  use(): boolean {
    const wasUsed = this.#isUsed
    this.#isUsed = true
    this.#state = 'waiting'
    this.#interimBytes = 0
    return wasUsed
  }

  /** The response has ended: what comes now belongs to no request. */
  end(): void {
    this.#state = 'idle'
  }

  /** Whether bytes of a response to the current request have arrived. */
  get isAnswering(): boolean {
    return this.#state === 'reading' || this.#interimBytes > 0 || this.#incomplete !== undefined
  }

  /** Whether bytes followed the response directly. Right after its end, once undici has read what arrived. */
  get hasSurplus(): boolean {
    // undici itself closes the connection if they arrived in one piece with the end of the response.
    if (!this.#hasSurplus && isUnexpectedResponse(this.#socket?.errored)) this.#refuseSurplus()
    return this.#hasSurplus
  }

  /** Wraps undici's connector to watch each socket that it opens. */
  watch(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) =>
      connect(options, (...result) => {
        if (result[0] === null) this.#watchSocket(result[1])
        callback(...result)
      })
  }

  /** Called before a request is dispatched. */
  prepare(options: { reset?: boolean | null }): void {
    if (!this.#server.isDistrusted) return
    options.reset = true
    if (this.#isUsed) this.#socket?.destroy()
  }

  #watchSocket(socket: Socket): void {
    this.#socket = socket
    this.#state = 'idle'
    this.#isUsed = false
    this.#hasSurplus = false
    this.#incomplete = undefined
    const read = socket.read.bind(socket)
    socket.read = (size) => {
      let bytes: Buffer | null = read(size)
      while (bytes !== null && this.#state === 'waiting') {
        const rest = this.#skipInterim(bytes)
        if (rest !== undefined) return rest
        bytes = read(size)
      }
      if (bytes === null || this.#state === 'reading') return bytes
      this.#refuseSurplus(bytes)
      return null
    }
  }

  /** Returns the bytes behind informational responses, undefined if more must arrive before. */
  #skipInterim(bytes: Buffer): Buffer | undefined {
    let rest = this.#incomplete === undefined ? bytes : Buffer.concat([this.#incomplete, bytes])
    this.#incomplete = undefined
    while (rest.length < STATUS_END || isInterim(rest)) {
      const end = rest.indexOf('\r\n\r\n')
      if (end === -1 && rest.length <= MAX_INTERIM_BYTES) {
        if (rest.length > 0) this.#incomplete = rest
        return undefined
      }
      const length = end === -1 ? rest.length : end + 4
      this.#interimBytes += length
      if (this.#interimBytes > MAX_INTERIM_BYTES) break
      rest = rest.subarray(length)
    }
    this.#state = 'reading'
    return rest
  }

  #refuseSurplus(bytes?: Buffer): void {
    this.#hasSurplus = true
    // Some servers announce so that they close an idle connection.
    if (bytes?.toString('latin1', 0, STATUS_END).endsWith(' 408') !== true) this.#server.distrust()
    this.#socket?.destroy()
  }
}

/** Whether a response head is informational; not 101, which undici rejects. */
function isInterim(head: Buffer): boolean {
  return head[9] === 0x31 && /^HTTP\/1\.[01] 1(?!01)/.test(head.toString('latin1', 0, STATUS_END))
}

/** undici's error for a response without a request. It closes connections without need for one, too. */
function isUnexpectedResponse(error: Error | null | undefined): boolean {
  return (
    error != null && 'code' in error && error.code === 'UND_ERR_SOCKET' && error.message === 'bad response'
  )
}

/** A client that tells each call the connection that carries it. */
class ConnectionClient extends Client {
  readonly #connection: Connection

  constructor(origin: URL, options: UndiciClient.Options, connection: Connection) {
    super(origin, options)
    this.#connection = connection
  }

  override dispatch(options: CallOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.#connection.prepare(options)
    options.call?.assign(this.#connection)
    return super.dispatch(options, handler)
  }
}

/** Creates the connection pool for the calls to a server. */
export function createPool(origin: string, options: UndiciPool.Options): UndiciPool {
  const server = new Server()
  // The cast is safe: the pool passes the options on, with the origin as a URL and a function that connects.
  const factory = (origin: URL, options: object) => {
    const clientOptions = options as UndiciClient.Options & { readonly connect: buildConnector.connector }
    const connection = new Connection(server)
    const connect = connection.watch(clientOptions.connect)
    return new ConnectionClient(origin, { ...clientOptions, connect }, connection)
  }
  return new Pool(origin, { ...options, factory })
}
