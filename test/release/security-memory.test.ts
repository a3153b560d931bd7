import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type EndlessProvider, startEndlessProvider } from '../support/endless-provider.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { peakMemory, resetPeakMemory } from '../support/memory.ts'
import { openSocket, readToEnd } from '../support/raw-http.ts'
import { withSettings } from '../support/settings.ts'
import { expectTimeout, chatHead as head, withShortTimeouts } from '../support/slow-client.ts'

/** Garbage takes tens of MiB, more on a slow machine. What is sent to the gateway here takes hundreds. */
const MAX_GROWTH_MIB = 150

const BODY_LIMIT = 20_000_000

/** A slow machine inflates a body up to the limit within the time for a request. */
const TIMEOUTS = withShortTimeouts({ request_ms: 6000, write_timeout_ms: 1500 })

describe('the memory of the gateway', () => {
  let provider: EndlessProvider
  let gateway: GatewayProcess
  let peakBefore: number | undefined

  before(async () => {
    provider = await startEndlessProvider()
    gateway = await startGatewayProcess(
      {
        ...(await withSettings(
          `${TIMEOUTS}limits: { body_bytes: ${BODY_LIMIT}, user_bodies_bytes: ${100 * BODY_LIMIT}, bodies_bytes: ${100 * BODY_LIMIT} }\n`,
        )),
        OPENAI_API_KEY: 'provider-key',
        OPENAI_BASE_URL: provider.url,
      },
      { isOptimized: true },
    )
    // The ledger loads its code when it is first used.
    await gateway.call('GET', '/v1/requests')
  })
  after(async () => {
    await gateway?.stop()
    provider.close()
  })
  beforeEach(() => {
    resetPeakMemory(gateway.process)
    peakBefore = peakMemory(gateway.process)
  })

  function expectNoGrowth(): void {
    const peak = peakMemory(gateway.process)
    if (peakBefore !== undefined && peak !== undefined)
      expect(peak - peakBefore).to.be.lessThan(MAX_GROWTH_MIB)
  }

  it('does not grow for a client that does not read its stream, which is disconnected', async () => {
    const body = JSON.stringify(chatBody('Go on', { stream: true }))
    const socket = await openSocket(gateway.url)
    socket.pause()
    socket.write(head(gateway, body.length) + body)
    await provider.left

    // As much as the kernel's buffers hold. Without backpressure it would be hundreds of megabytes.
    expect(provider.sent() / 2 ** 20).to.be.within(0.1, 40)
    expectNoGrowth()
    expect((await gateway.call('GET', '/healthz')).status).to.equal(200)
    socket.destroy()
  })

  it('does not grow for bodies that are announced and not sent', async () => {
    const sockets: Socket[] = []
    for (let count = 0; count < 100; count++) {
      const socket = await openSocket(gateway.url)
      socket.write(`${head(gateway, BODY_LIMIT)}{"model":`)
      sockets.push(socket)
    }
    for (const text of await Promise.all(sockets.map(readToEnd))) expectTimeout(text)
    expectNoGrowth()
  })

  it('does not grow for a compressed body that exceeds the limit', async () => {
    // 300 MiB: gzip files behind each other are one.
    const bomb = Buffer.concat(Array(30).fill(gzipSync(Buffer.alloc(10 * 2 ** 20, ' '))))
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.demoKey}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      body: bomb,
    })
    expect(response.status).to.equal(413)
    expectNoGrowth()
  })
})
