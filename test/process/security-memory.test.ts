import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { startEndlessProvider } from '../support/endless-provider.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { peakMemory } from '../support/memory.ts'
import { openSocket, readToEnd } from '../support/raw-http.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { expectTimeout, chatHead as head, SHORT_TIMEOUTS } from '../support/slow-client.ts'

const OPTIMIZED = { isOptimized: true }

describe('the memory of the gateway', () => {
  it('does not grow for bodies that are announced and not sent', async () => {
    const gateway = await startGatewayProcess(await withSettings(SHORT_TIMEOUTS), OPTIMIZED)
    const before = peakMemory(gateway.process)
    const sockets: Socket[] = []
    for (let count = 0; count < 100; count++) {
      const socket = await openSocket(gateway.url)
      socket.write(`${head(gateway, 20_000_000)}{"model":`)
      sockets.push(socket)
    }
    for (const text of await Promise.all(sockets.map(readToEnd))) expectTimeout(text)
    const after = peakMemory(gateway.process)
    if (before !== undefined && after !== undefined) expect(after - before).to.be.lessThan(60)
    await gateway.stop()
  })

  it('does not grow for a client that does not read its stream, which is disconnected', async () => {
    const provider = await startEndlessProvider()
    const gateway = await startGatewayProcess(
      {
        ...(await withSettings(`${UNLIMITED}timeouts: { write_timeout_ms: 1500 }\n`)),
        OPENAI_API_KEY: 'provider-key',
        OPENAI_BASE_URL: provider.url,
      },
      OPTIMIZED,
    )
    // The ledger loads its code when it is first used.
    await gateway.call('GET', '/v1/requests')
    const before = peakMemory(gateway.process)
    const body = JSON.stringify(chatBody('Go on', { stream: true }))
    const socket = await openSocket(gateway.url)
    socket.pause()
    socket.write(head(gateway, body.length) + body)
    await provider.left

    // As much as the kernel's buffers hold. Without backpressure it would be hundreds of megabytes.
    expect(provider.sent() / 2 ** 20).to.be.within(0.1, 40)
    const after = peakMemory(gateway.process)
    if (before !== undefined && after !== undefined) expect(after - before).to.be.lessThan(60)
    expect((await gateway.call('GET', '/healthz')).status).to.equal(200)
    socket.destroy()
    await gateway.stop()
    provider.close()
  })

  it('does not grow for a compressed body that exceeds the limit', async () => {
    const gateway = await startGatewayProcess(
      await withSettings(`${UNLIMITED}limits: { body_bytes: 1000000 }\n`),
      OPTIMIZED,
    )
    const before = peakMemory(gateway.process)
    const bomb = gzipSync(Buffer.alloc(300 * 2 ** 20, ' '))
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
    const after = peakMemory(gateway.process)
    if (before !== undefined && after !== undefined) expect(after - before).to.be.lessThan(60)
    await gateway.stop()
  })
})
