import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chunk } from './scripted-provider.ts'

/** A provider in OpenAI's format whose answers never end. */
export interface HoldingProvider {
  /** For `OPENAI_BASE_URL`. */
  readonly url: string
  /** Resolves when this many requests have arrived since the start. */
  received(count: number): Promise<void>
  receivedCount(): number
  close(): void
}

/** A request with this text gets no answer at all, others the beginning of a stream. */
export const UNANSWERED = 'Never answer this.'

const BEGINNING = [chunk({ role: 'assistant', content: '' }), chunk({ content: 'Once upon a time' })]
  .map((record) => `data: ${JSON.stringify(record)}\n\n`)
  .join('')

export async function startHoldingProvider(): Promise<HoldingProvider> {
  let requests = 0
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    requests++
    server.emit('received')
    if (text.includes(UNANSWERED) || JSON.parse(text).stream !== true) return
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(BEGINNING)
  })
  // Tests that wait for what is refused do not stop to wait.
  server.setMaxListeners(0)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async received(count) {
      while (requests < count) await once(server, 'received')
    },
    receivedCount: () => requests,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
