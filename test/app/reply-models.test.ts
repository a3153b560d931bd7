import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'

/** A reply of Gemini without `modelVersion`, which its API may omit. */
const REPLY = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  responseId: 'r1',
}

describe('a reply that does not name its model', () => {
  let upstream: Server
  let gateway: RunningGateway
  before(async () => {
    upstream = createServer((request, response) => {
      request.resume()
      const isStream = request.url?.includes('stream')
      response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json')
      response.end(isStream ? `data: ${JSON.stringify(REPLY)}\r\n\r\n` : JSON.stringify(REPLY))
    })
    upstream.listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    const { port } = upstream.address() as AddressInfo
    gateway = await startGateway({
      GEMINI_API_KEY: 'a-key-for-tests',
      GEMINI_BASE_URL: `http://127.0.0.1:${port}`,
    })
  })
  after(async () => {
    await gateway.stop()
    upstream.close()
  })

  it('has the name of the model that was asked', async () => {
    const body = chatBody('Hi', { model: 'gemini-3.8-flash' })
    const { key } = await newUser(gateway)
    const as = { authorization: `Bearer ${key}` }
    const whole = await gateway.call('POST', '/v1/chat/completions', body, as)
    expect([whole.status, whole.body.model], JSON.stringify(whole.body)).to.deep.equal([
      200,
      'gemini-3.8-flash',
    ])
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...as, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, stream: true }),
    })
    const records = (await response.text()).split('\n\n').filter((record) => record.startsWith('data: {'))
    const models = records.map((record) => JSON.parse(record.slice('data: '.length)).model)
    expect([...new Set(models)]).to.deep.equal(['gemini-3.8-flash'])
  })
})
