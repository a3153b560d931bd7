import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** A provider in OpenAI's format that streams as fast as it is read, for ever. */
export interface EndlessProvider {
  /** For `OPENAI_BASE_URL`. */
  readonly url: string
  /** Bytes that it could hand over so far. */
  sent(): number
  /** Resolves when its stream was broken off. */
  readonly left: Promise<unknown>
  close(): void
}

const RECORD = `data: ${JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-4o',
  choices: [{ index: 0, delta: { content: 'x'.repeat(8000) }, finish_reason: null }],
})}\n\n`

export async function startEndlessProvider(): Promise<EndlessProvider> {
  let sent = 0
  let leave = (_: unknown) => {}
  const left = new Promise((resolve) => {
    leave = resolve
  })
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.once('close', leave)
    pipeline(Readable.from(records()), response).catch(() => undefined)
  })
  function* records() {
    for (;;) {
      sent += RECORD.length
      yield RECORD
    }
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    sent: () => sent,
    left,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
