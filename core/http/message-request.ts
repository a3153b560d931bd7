import { IncomingMessage } from 'node:http'
import type { ClientSession, JsonObject } from '../contract/index.ts'

/** Returns the body of the request that a message stands for. Throws a `GatewayError` for any other. */
export type ReadSocketMessage = (message: JsonObject) => JsonObject

/** A message of a WebSocket connection. */
export interface SocketMessage {
  /** JSON. */
  readonly text: Buffer
  readonly toBody: ReadSocketMessage
}

/** The headers of an upgrade request that are about the connection, or about a body. */
const CONNECTION_HEADERS = /^(?:connection|upgrade|sec-websocket-.*|content-.*|transfer-encoding|expect|te)$/

/**
 * A request that does not come from a connection of its own: a message of a WebSocket connection, or the
 * request to open one. It has the headers of the upgrade request, so that the same checks apply.
 */
export class MessageRequest extends IncomingMessage {
  readonly session: ClientSession
  #message: SocketMessage | undefined

  constructor(
    method: 'GET' | 'POST',
    upgrade: IncomingMessage,
    session: ClientSession,
    message?: SocketMessage,
  ) {
    super(upgrade.socket)
    this.session = session
    this.#message = message
    this.method = method
    this.url = upgrade.url ?? '/'
    this.httpVersion = upgrade.httpVersion
    this.headers = message === undefined ? upgrade.headers : withoutConnection(upgrade)
    this.complete = true
    this.push(null)
  }

  /** Returns the message, and drops it: it would stay for as long as the response. */
  takeMessage(): SocketMessage | undefined {
    const message = this.#message
    this.#message = undefined
    return message
  }
}

function withoutConnection({ headers }: IncomingMessage): IncomingMessage['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CONNECTION_HEADERS.test(name)))
}
