import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { largestMappings, peakMemory, resetPeakMemory } from '../support/memory.ts'
import { openSocket } from '../support/raw-http.ts'
import { chunk, completion } from '../support/scripted-provider.ts'
import { withSettings } from '../support/settings.ts'
import { chatHead, withShortTimeouts } from '../support/slow-client.ts'
import { startWholeReplyProvider } from '../support/whole-reply-provider.ts'

const MIB = 2 ** 20

const TIMEOUTS = withShortTimeouts({ request_ms: 6000, write_timeout_ms: 1500 })

/** The replies are 300 MiB uncompressed: gzip files behind each other are one. */
const BOMB = Buffer.concat(Array(30).fill(gzipSync(Buffer.alloc(10 * MIB, ' '))))

/** A reply up to its limit of 64 MiB, and garbage. */
const MAX_GROWTH_MIB = 110

/** Decompression leaves more garbage. */
const MAX_BOMB_GROWTH_MIB = 190

describe('the memory that replies of a provider take', () => {
  let provider: Server
  let respond: Parameters<typeof createServer>[1]
  let gateway: GatewayProcess
  let large: Awaited<ReturnType<typeof startWholeReplyProvider>>

  before(async () => {
    provider = createServer((request, response) => {
      request.resume()
      respond?.(request, response)
    })
    await once(provider.listen(0, '127.0.0.1'), 'listening')
    large = await startWholeReplyProvider(100 * MIB, { isAnnounced: false })
    gateway = await startGatewayProcess({
      ...(await withSettings(`${TIMEOUTS}breaker: { min_requests: 1000 }\n`)),
      OPENAI_API_KEY: 'provider-key',
      OPENAI_BASE_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`,
      MISTRAL_API_KEY: 'provider-key',
      MISTRAL_BASE_URL: large.url,
    })
    // What is loaded and compiled with the first requests does not count.
    respond = (_, response) => response.end(JSON.stringify(completion({ content: 'Hi' })))
    for (let count = 0; count < 20; count++) await ask('openai:gpt-4o', false)
    await gateway.call('GET', '/v1/requests')
  })
  after(async () => {
    await gateway?.stop()
    large.close()
    provider.close()
    provider.closeAllConnections()
  })

  /** Returns by how many MiB the gateway's memory grew at most. */
  async function growthDuring(action: () => Promise<unknown>): Promise<number> {
    resetPeakMemory(gateway.process)
    const before = peakMemory(gateway.process) ?? 0
    await action()
    return (peakMemory(gateway.process) ?? 0) - before
  }

  const ask = (model: string, stream: boolean) =>
    gateway.call('POST', '/v1/chat/completions', { ...chatBody('Hello'), model, stream })

  for (const stream of [false, true]) {
    it(`is bounded for what is 300 MiB uncompressed, stream: ${stream}`, async () => {
      for (const type of ['application/json', 'text/event-stream']) {
        respond = (_, response) =>
          response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' }).end(BOMB)
        const growth = await growthDuring(async () => {
          const { status, body } = await ask('openai:gpt-4o', stream)
          expect(status).to.equal(502)
          expect(body.error.code).to.equal('provider_error')
        })
        expect(growth).to.be.below(MAX_BOMB_GROWTH_MIB)
      }
    })
  }

  it('is bounded for a whole reply without a size', async () => {
    const growth = await growthDuring(async () => {
      expect((await ask('mistral:mistral-small-latest', false)).status).to.equal(502)
    })
    expect(growth).to.be.below(MAX_GROWTH_MIB)
  })

  it('does not grow for a client that does not read a compressed stream', async () => {
    let sent = 0
    const record = `data: ${JSON.stringify(chunk({ content: 'x'.repeat(16_000) }))}\n\n`
    // Compressed once: a provider that compresses while it sends is too slow to show missing backpressure.
    const part = gzipSync(record.repeat(16), { level: 0 })
    const ended = new Promise<void>((resolve) => {
      respond = (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
        response.on('close', resolve)
        const write = () => {
          for (let isTaken = true; isTaken && !response.destroyed; sent += part.length)
            isTaken = response.write(part)
        }
        response.on('drain', write)
        write()
      }
    })
    const growth = await growthDuring(async () => {
      const body = JSON.stringify(chatBody('Go on', { stream: true }))
      const socket = await openSocket(gateway.url)
      socket.pause()
      socket.write(chatHead(gateway, body.length) + body)
      // The gateway disconnects the client.
      await ended
      socket.destroy()
    })
    // 150 to 220 MiB arrive within this time without backpressure.
    expect(sent / MIB).to.be.below(40)
    expect(growth, largestMappings(gateway.process)).to.be.below(60)
  })
})
