import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { type ClientSession, GatewayError, service } from '../../contract/index.ts'
import { createSharedQuota } from '../../util/shared-quota.ts'
import type { CorsSettings } from '../cors.ts'
import { MessageRequest, type ReadSocketMessage } from '../message-request.ts'
import {
  type FormatSocketError,
  type HandleMessage,
  MessageResponse,
  SocketConnection,
} from './socket-connection.ts'

/** A path that serves WebSocket connections. Each message is a `POST` to it with a streamed response. */
export interface SocketEndpoint {
  readonly path: string
  readonly formatError: FormatSocketError
  /** The last message of a connection that has been open for an hour. */
  readonly expiryMessage: object
  readonly toBody: ReadSocketMessage
}

/** The path of the main address that serves WebSocket connections, of the plugin that adds it. */
export const SocketEndpoint = service<SocketEndpoint>('http.socket')

/** Closes a connection with an error response. */
export type RejectUpgrade = (socket: Duplex, error: GatewayError, request: IncomingMessage) => void

/** The WebSocket connections of a server. */
export interface SocketServer {
  isSocketPath(path: string): boolean
  /** Opens a connection, or responds with the reason why not. */
  accept(
    upgrade: { request: IncomingMessage; socket: Duplex; head: Buffer },
    handle: HandleMessage,
    reject: RejectUpgrade,
  ): void
  /** Closes the connections as soon as no response is in flight on them. */
  drain(): void
}

export interface SocketServerOptions extends SocketEndpoint {
  /** Maximum size of a message, in bytes. */
  readonly maxBytes: number
  readonly cors: CorsSettings
}

/** Interval at which clients must answer a ping, which also keeps proxies from closing the connection. */
const PING_INTERVAL_MS = 15_000

/** Messages of the maximum size that the connections of a user, and of all users, can hold unhandled. */
const MAX_MESSAGES_PER_USER = 4
const MAX_MESSAGES = 16

/** As OpenAI's. */
const MAX_CONNECTION_MS = 60 * 60_000

/** See docs/decisions/http.md, "A message of a WebSocket connection is a request of its own". */
export function createSocketServer(options: SocketServerOptions): SocketServer {
  const { path, formatError, toBody, expiryMessage, maxBytes, cors } = options
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: maxBytes,
    perMessageDeflate: false,
    clientTracking: false,
  })
  const connections = new Set<SocketConnection>()
  const unhandledBytes = createSharedQuota<number | undefined>({
    perOwner: MAX_MESSAGES_PER_USER * maxBytes,
    total: MAX_MESSAGES * maxBytes,
  })
  let isDraining = false
  let pings: NodeJS.Timeout | undefined

  function pingAll(): void {
    for (const connection of connections) connection.checkAlive()
  }

  function open(upgrade: Upgrade, handle: HandleMessage, requestId: string, owner?: number): void {
    const { request, socket, head } = upgrade
    const addHeaders = (headers: string[]) => headers.push(`x-request-id: ${requestId}`)
    server.once('headers', addHeaders)
    server.handleUpgrade(request, socket, head, (webSocket) => {
      const connectionOptions = { maxWaitingBytes: maxBytes, unhandledBytes, owner, formatError, toBody }
      const connection = new SocketConnection(webSocket, request, handle, connectionOptions)
      connections.add(connection)
      pings ??= setInterval(pingAll, PING_INTERVAL_MS).unref()
      const expiry = setTimeout(() => connection.end(expiryMessage), MAX_CONNECTION_MS).unref()
      webSocket.on('close', () => {
        clearTimeout(expiry)
        connections.delete(connection)
        if (connections.size > 0) return
        clearInterval(pings)
        pings = undefined
      })
      if (isDraining) connection.end()
    })
    server.off('headers', addHeaders)
  }

  return {
    isSocketPath: (requested) => requested === path,
    accept(upgrade, handle, reject) {
      const { request, socket } = upgrade
      socket.on('error', () => socket.destroy())
      const error = findUpgradeIssue(request, cors)
      if (error !== undefined) return reject(socket, error, request)
      requestUpgrade(request, socket, handle, (requestId, owner) => open(upgrade, handle, requestId, owner))
    },
    drain() {
      isDraining = true
      for (const connection of connections) connection.end()
    },
  }
}

type Upgrade = Parameters<SocketServer['accept']>[0]

/** The form of the key that RFC 6455 requires. */
const SOCKET_KEY = /^[+/0-9A-Za-z]{22}==$/

function findUpgradeIssue({ headers }: IncomingMessage, { origins }: CorsSettings): GatewayError | undefined {
  const { origin, host, 'sec-websocket-key': key = '', 'sec-websocket-version': version } = headers
  if (!SOCKET_KEY.test(key) || version !== '13') {
    const message = 'The request for a WebSocket needs Sec-WebSocket-Version 13 and a Sec-WebSocket-Key.'
    return new GatewayError('malformed_request', message)
  }
  // Browsers apply CORS to requests, but leave it to the server whose pages may open a WebSocket.
  const isOwn = origin === `https://${host}` || origin === `http://${host}`
  if (origin === undefined || isOwn || origins.includes('*') || origins.includes(origin)) return undefined
  const message = 'Pages of this origin may not use the gateway. The operator can add it to cors.origins.'
  return new GatewayError('origin_not_allowed', message)
}

/**
 * Handles the upgrade request like any other: the caller is authenticated, counted and logged. Calls
 * `onAdmitted` if the response is 101, and else sends the response.
 */
function requestUpgrade(
  upgrade: IncomingMessage,
  socket: Duplex,
  handle: HandleMessage,
  onAdmitted: (requestId: string, owner: number | undefined) => void,
): void {
  let body = ''
  const session = toSession(socket)
  const request = new MessageRequest('GET', upgrade, session)
  const response = new MessageResponse(request, {
    write(chunk) {
      body += Buffer.from(chunk)
      return true
    },
    end(ended) {
      if (socket.destroyed) return
      if (ended.statusCode === 101) onAdmitted(String(ended.getHeader('x-request-id')), session.owner)
      else socket.end(formatHead(ended) + body, () => socket.destroy())
    },
  })
  const onClose = () => response.destroy()
  socket.once('close', onClose)
  response.once('close', () => socket.off('close', onClose))
  handle(request, response)
}

function toSession(socket: Duplex): ClientSession {
  return {
    get isClosed() {
      return socket.closed
    },
    onClose(notify) {
      if (socket.closed) notify()
      else socket.once('close', notify)
    },
  }
}

function formatHead(response: MessageResponse): string {
  const headers = { ...response.getHeaders(), connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${response.statusCode} ${response.statusMessage}\r\n${lines.join('')}\r\n`
}
