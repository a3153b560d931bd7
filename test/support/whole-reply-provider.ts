import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** A provider whose whole replies are as large as a test wants. */
export interface WholeReplyProvider {
  /** For `OPENAI_BASE_URL`. */
  readonly url: string
  /** The bytes of each reply that were sent before the gateway closed the connection. */
  readonly sent: readonly number[]
  close(): void
}

const PIECE = Buffer.alloc(256 * 1024, 'x')

/**
 * Starts a provider that sends `bytes` of text, and says so beforehand if `isAnnounced`. After each piece it
 * waits for two turns of the event loop, so that a gateway in this process reads it before the next one.
 */
export async function startWholeReplyProvider(
  bytes: number,
  { isAnnounced }: { isAnnounced: boolean },
): Promise<WholeReplyProvider> {
  const sent: number[] = []
  const server = createServer(async (request, response) => {
    const index = sent.push(0) - 1
    request.resume()
    response.writeHead(200, {
      'content-type': 'application/json',
      ...(isAnnounced && { 'content-length': bytes }),
    })
    response.flushHeaders()
    for (let left = bytes; left > 0 && !response.destroyed; left -= PIECE.length) {
      for (let turn = 0; turn < 2; turn++) await nextTurn()
      if (response.destroyed) break
      sent[index] = (sent[index] ?? 0) + PIECE.length
      await new Promise((resolve) => response.write(PIECE, resolve))
    }
    response.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    sent,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
