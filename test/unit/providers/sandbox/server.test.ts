import { expect } from 'chai'
import OpenAI from 'openai'
import { type Sandbox, startSandbox } from '../../../../providers/sandbox/server.ts'
import { buildBody, createOpenAiClient, errorOf, type OpenAiClient } from './openai-client.ts'

describe('sandbox: server', () => {
  let sandbox: Sandbox
  let client: OpenAiClient

  before(async () => {
    sandbox = await startSandbox({ record: 100 })
    client = createOpenAiClient(sandbox)
  })

  after(() => sandbox.close())

  describe('client disconnects', () => {
    for (const fault of ['hang', 'first-byte=600000']) {
      it(`are detected before the first byte (${fault})`, async () => {
        const controller = new AbortController()
        const arrival = sandbox.next()
        const answer = errorOf(client.ask(`[[sandbox:${fault}]]`, {}, controller.signal))
        const request = await arrival
        expect(request.isAborted).to.equal(false)
        controller.abort()
        expect(await request.closed).to.equal('aborted')
        expect(request.isAborted).to.equal(true)
        expect(await answer).to.be.instanceOf(OpenAI.APIUserAbortError)
      })
    }

    it('are detected in the middle of a stream', async () => {
      const arrival = sandbox.next()
      for await (const _ of await client.stream('[[sandbox:token-delay=600000]]')) break
      expect(await (await arrival).closed).to.equal('aborted')
    })

    it('are detected while a large response waits for backpressure', async () => {
      const arrival = sandbox.next()
      const input = Array.from({ length: 300 }, (_, index) => `Text ${index}`)
      const response = await fetch(`${sandbox.url}/openai/v1/embeddings`, {
        method: 'POST',
        headers: { authorization: 'Bearer test', 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'text-embedding-3-small', input }),
      })
      await response.body!.cancel()
      expect(await (await arrival).closed).to.equal('aborted')
    })
  })

  describe('request recording', () => {
    it('keeps method, path, headers and body', async () => {
      await client.ask('remember me')
      const request = sandbox.requests.at(-1)!
      expect(request).to.include({ method: 'POST', path: '/openai/v1/chat/completions', isAborted: false })
      expect(request.headers).to.include({ authorization: 'Bearer test' })
      expect(request.body).to.deep.equal(JSON.parse(buildBody('remember me')))
      expect(await request.closed).to.equal('finished')
    })

    it('waits for the request that satisfies a predicate', async () => {
      const arrival = sandbox.next(({ body }) => JSON.stringify(body).includes('second'))
      await client.ask('first')
      await client.ask('second')
      expect((await arrival).body).to.have.nested.property('messages[0].content', 'second')
    })

    it('keeps at most the configured number of requests, and none by default', async () => {
      const [two, none] = await Promise.all([startSandbox({ record: 2 }), startSandbox()])
      for (const model of ['a', 'b', 'c']) {
        await createOpenAiClient(two).ask('Hi', { model })
        await createOpenAiClient(none).ask('Hi', { model })
      }
      expect(two.requests.map(({ body }) => (body as { model: string }).model)).to.deep.equal(['b', 'c'])
      expect(none.requests).to.deep.equal([])
      await Promise.all([two.close(), none.close()])
    })
  })

  describe('close', () => {
    it('ends open connections', async () => {
      const own = await startSandbox()
      const arrival = own.next()
      const answer = errorOf(createOpenAiClient(own).ask('[[sandbox:hang]]'))
      await arrival
      await own.close()
      expect(await answer).to.be.instanceOf(OpenAI.APIConnectionError)
    })

    it('can be called twice', async () => {
      const own = await startSandbox()
      await own.close()
      await own.close()
    })

    it('frees the port; starting on a port in use fails', async () => {
      const own = await startSandbox()
      const port = Number(new URL(own.url).port)
      const refused = await startSandbox({ port }).catch((error: unknown) => error)
      expect(refused).to.have.property('code', 'EADDRINUSE')
      await own.close()
      await (await startSandbox({ port })).close()
    })
  })
})
