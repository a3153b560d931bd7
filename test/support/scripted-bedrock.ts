import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { EventStreamCodec } from '@smithy/eventstream-codec'
import { runCloudLibrary } from './python.ts'
import { ROOT } from './root.ts'

interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object | string | Buffer
  /** What follows the body later. */
  readonly later?: Promise<Buffer>
}

export interface Received {
  readonly method: string
  /** As it was sent. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** A service of AWS on loopback that answers what it is told. */
export interface ScriptedBedrock {
  readonly url: string
  readonly received: Received[]
  play(answer: Answer | ((request: Received) => Answer)): void
  close(): void
}

export async function startScriptedBedrock(): Promise<ScriptedBedrock> {
  let current: Answer | ((request: Received) => Answer) = { body: {} }
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers: sentHeaders } = request
    const sent = { method, path, headers: sentHeaders, bytes: await buffer(request) }
    received.push(sent)
    const { status = 200, headers, body, later } = typeof current === 'function' ? current(sent) : current
    const type = Buffer.isBuffer(body) ? 'application/vnd.amazon.eventstream' : 'application/json'
    response.writeHead(status, { 'content-type': type, ...headers })
    response.write(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body))
    response.end(await later)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    play(answer) {
      current = answer
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString(),
  (text) => Buffer.from(text),
)

/** A frame of AWS's event stream. */
export function frame(event: string, payload: object, kind: 'event' | 'exception' = 'event'): Buffer {
  const text = (value: string) => ({ type: 'string' as const, value })
  const headers = { ':message-type': text(kind), [`:${kind}-type`]: text(event) }
  return Buffer.from(codec.encode({ headers, body: Buffer.from(JSON.stringify(payload)) }))
}

/** A record of Claude within such a frame. */
export function chunkFrame(record: object): Buffer {
  return frame('chunk', { bytes: Buffer.from(JSON.stringify(record)).toString('base64'), p: 'abcd' })
}

const SCRIPT = readFileSync(new URL('test/support/verify-aws.py', ROOT), 'utf8')

/** Whether botocore computes the signature of each request, too. */
export function verifySignatures(
  { url, received }: Pick<ScriptedBedrock, 'url' | 'received'>,
  keys: { readonly access_key: string; readonly secret_key: string; readonly region: string },
): Promise<readonly boolean[]> {
  const requests = received.map(({ path, headers, bytes }) => ({
    ...keys,
    url: url + path,
    headers,
    body: bytes.toString('base64'),
  }))
  return runCloudLibrary(SCRIPT, [JSON.stringify(requests)])
}
