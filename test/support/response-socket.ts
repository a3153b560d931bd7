import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import type { JsonObject } from '../../core/contract/json.ts'

/** A client of OpenAI's WebSocket mode. */
export interface ResponseSocket {
  readonly socket: WebSocket
  /** Sends `response.create` for each, and resolves with all events up to the end of the last response. */
  create(...requests: object[]): Promise<readonly JsonObject[]>
  /** Sends a text, and resolves with the next message. */
  send(text: string): Promise<JsonObject>
  /** Resolves with the code once the connection is closed. */
  readonly closed: Promise<number>
}

const LAST_EVENTS = ['error', 'response.completed', 'response.incomplete', 'response.failed']

export async function openResponseSocket(
  url: string,
  key: string,
  headers: Record<string, string> = {},
): Promise<ResponseSocket> {
  const socket = connectSocket(url, { authorization: `Bearer ${key}`, ...headers })
  await once(socket, 'open')
  const closed = once(socket, 'close').then(([code]) => Number(code))

  function collect(isLast: (message: JsonObject) => boolean): Promise<readonly JsonObject[]> {
    const messages: JsonObject[] = []
    return new Promise((resolve, reject) => {
      const onMessage = (data: Buffer) => {
        const message: JsonObject = JSON.parse(data.toString())
        messages.push(message)
        if (!isLast(message)) return
        socket.off('message', onMessage)
        resolve(messages)
      }
      socket.on('message', onMessage)
      void closed.then((code) => reject(new Error(`closed with ${code} after ${JSON.stringify(messages)}`)))
    })
  }

  return {
    socket,
    closed,
    create(...requests) {
      let running = requests.length
      const events = collect(({ type }) => LAST_EVENTS.includes(String(type)) && --running === 0)
      for (const fields of requests) socket.send(JSON.stringify({ type: 'response.create', ...fields }))
      return events
    },
    async send(text) {
      const messages = collect(() => true)
      socket.send(text)
      return (await messages)[0] ?? {}
    },
  }
}

export function connectSocket(url: string, headers: Record<string, string>): WebSocket {
  return new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { headers })
}

/** Resolves with the response to an upgrade that is refused. */
export async function refusedUpgrade(url: string, headers: Record<string, string>) {
  const socket = connectSocket(url, headers)
  socket.on('error', () => undefined)
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
  let text = ''
  for await (const chunk of response) text += chunk
  return { status: response.statusCode, headers: response.headers, body: JSON.parse(text) }
}
