import { expect } from 'chai'
import OpenAI from 'openai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { providersAt } from '../support/providers.ts'
import { sample } from '../support/rounds.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { constant, createResponse as create, idIn, model, replay } from '../support/stored-responses.ts'
import { waitUntil } from '../support/wait.ts'

describe('stored responses', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let client: OpenAI

  before(async () => {
    sandbox = await startSandbox({ record: 1 })
    gateway = await startGateway(providersAt(sandbox))
    client = gateway.openai()
  })
  after(async () => {
    await gateway?.stop()
    await sandbox.close()
  })

  describe('are replayed', () => {
    for (const stream of [false, true]) {
      it(`unchanged, ${stream ? 'as a stream' : 'whole'}, by response id and by request id`, async () => {
        const answered = await create(gateway, {
          input: `Again ${stream}`,
          stream,
          reasoning: { effort: 'low' },
        })
        const id = idIn(answered.text)
        for (const known of [id, id.replace('resp_', 'req_')]) {
          const replayed = await replay(gateway, known, stream)
          expect(replayed.status).to.equal(200)
          expect(replayed.text).not.to.equal(answered.text)
          expect(constant(replayed.text)).to.equal(constant(answered.text))
        }
      })
    }

    it('with the request id of the replay', async () => {
      const id = idIn((await create(gateway, { input: 'x' })).text)
      const { body, headers } = await gateway.call('POST', `/v1/responses/${id}`)
      expect(body.x_request_id).to.equal(headers.get('x-request-id'))
    })

    it('as a stream if created whole, and whole if created as a stream', async () => {
      const whole = JSON.parse((await create(gateway, { input: [{ role: 'user', content: 'x' }] })).text)
      const streamed = await replay(gateway, whole.id, true)
      const last = JSON.parse(/event: response\.completed\ndata: (.*)/.exec(streamed.text)?.[1] ?? '')
      expect({ ...last.response, x_request_id: '' }).to.deep.equal({ ...whole, x_request_id: '' })

      const input = [{ role: 'user', content: 'x' }]
      const { text } = await create(gateway, { input, stream: true })
      const { body } = await gateway.call('POST', `/v1/responses/${idIn(text)}`, {})
      expect(text).to.contain(JSON.stringify(body.output))
    })

    it('with output_text for an OpenAI client, whatever form they were created in', async () => {
      const { body } = await gateway.call('POST', '/v1/responses', { model, input: 'Form' })
      expect(body.output[0].content[0].type).to.equal('text')
      expect((await client.responses.retrieve(body.id)).output_text).to.contain('Form')
    })

    it('without calling a provider', async () => {
      const id = idIn((await create(gateway, { input: 'Once' })).text)
      const last = sandbox.requests.at(-1)
      await replay(gateway, id, false)
      await replay(gateway, id, true)
      expect(sandbox.requests.at(-1)).to.equal(last)
    })
  })

  it('can be retrieved, listed and deleted by the SDK', async () => {
    const made = await client.responses.create({
      model,
      input: [
        { role: 'user', content: 'One' },
        { role: 'assistant', content: 'Two' },
        { role: 'user', content: 'Three' },
      ],
    })
    const retrieved = await client.responses.retrieve(made.id)
    expect(retrieved).to.deep.equal(made)
    const items = []
    for await (const item of client.responses.inputItems.list(made.id, { limit: 2, order: 'asc' }))
      items.push(item)
    expect(items.map((item) => 'role' in item && item.role)).to.deep.equal(['user', 'assistant', 'user'])
    await client.responses.delete(made.id)
    const error = await client.responses.retrieve(made.id).then(
      () => expect.fail(),
      (error) => error,
    )
    expect(error).to.be.instanceOf(OpenAI.NotFoundError)
  })

  it("are deleted with OpenAI's response, and then not found", async () => {
    const id = idIn((await create(gateway, { input: 'x' })).text)
    expect((await gateway.call('DELETE', `/v1/responses/${id}`)).body).to.deep.equal({
      id,
      object: 'response',
      deleted: true,
    })
    for (const [method, path] of [
      ['POST', ''],
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/input_items'],
    ] as const)
      expect((await gateway.call(method, `/v1/responses/${id}${path}`)).status).to.equal(404)
  })

  it('are not stored with store:false', async () => {
    const { text } = await create(gateway, { input: 'x', store: false })
    expect(JSON.parse(text).store).to.equal(false)
    expect((await replay(gateway, idIn(text), false)).status).to.equal(404)
  })

  it('of other users are not found', async () => {
    const id = idIn((await create(gateway, { input: 'Mine' })).text)
    const { call } = await newUser(gateway, 'free')
    const unknown = await call('GET', `/v1/responses/resp_${'0'.repeat(24)}`)
    for (const method of ['GET', 'POST', 'DELETE']) {
      const { status, body } = await call(method, `/v1/responses/${id}`)
      expect(status).to.equal(404)
      expect(body.error.message.replace(id, '')).to.equal(unknown.body.error.message.replace(/resp_0+/, ''))
    }
    const continued = await call('POST', '/v1/responses', { model, input: 'x', previous_response_id: id })
    expect(continued.status).to.equal(400)
    const referred = [{ type: 'item_reference', id: `${id.replace('resp_', 'msg_')}00` }]
    expect((await call('POST', '/v1/responses', { model, input: referred })).status).to.equal(400)
    expect((await replay(gateway, id, false)).status).to.equal(200)
  })

  describe('are a conflict', () => {
    const conflict = async (id: string) => {
      const { status, body, headers } = await gateway.call('POST', `/v1/responses/${id}`)
      expect(status).to.equal(409)
      expect(body.error).to.include({ code: 'conflict', http_status: 409 })
      expect(headers.get('x-should-retry')).to.equal('false')
    }

    it('when the provider failed in mid-stream', async () => {
      const { text } = await create(gateway, { input: 'Go [[sandbox:cut=3 token-delay=5]]', stream: true })
      expect(text).to.contain('event: response.failed')
      await conflict(idIn(text))
      expect((await gateway.call('GET', `/v1/responses/${idIn(text)}`)).body.status).to.equal('failed')
    })

    it('when the request was refused', async () => {
      const { status, headers } = await gateway.call('POST', '/v1/responses', {
        model: 'no-such-model',
        input: 'x',
      })
      expect(status).to.equal(404)
      await conflict(headers.get('x-request-id') ?? '')
    })

    it('while they are in progress', async () => {
      const stream = await client.responses.create({
        model,
        input: 'Slow [[sandbox:token-delay=20]]',
        stream: true,
      })
      let id = ''
      for await (const event of stream) {
        if (event.type !== 'response.created') continue
        id = event.response.id
        await conflict(id)
      }
      expect((await replay(gateway, id, true)).status).to.equal(200)
    })
  })

  it('expire', async () => {
    const short = await startGateway(await withSettings(`${UNLIMITED}responses: { retention_days: 0.00002 }`))
    const id = idIn((await create(short, { input: 'x' })).text)
    expect((await replay(short, id, false)).status).to.equal(200)
    await waitUntil(async () => (await replay(short, id, false)).status !== 200)
    expect((await replay(short, id, false)).status).to.equal(404)
    await short.stop()
  })

  for (const stream of sample([false, true], 1)) {
    it(`can have more than a megabyte, ${stream ? 'streamed' : 'whole'}`, async () => {
      const text = 'Größe "\\\n🚂" '.repeat(60_000)
      const created = await create(gateway, { input: text, stream })
      expect(created.status).to.equal(200)
      const id = idIn(created.text)

      expect((await replay(gateway, id, stream)).status).to.equal(200)
      const items = await gateway.call('GET', `/v1/responses/${id}/input_items`)
      expect(items.body.data[0].content[0].text).to.equal(text)
      const next = await create(gateway, { input: 'and now?', previous_response_id: id })
      expect(next.status).to.equal(200)
      expect((await gateway.call('DELETE', `/v1/responses/${id}`)).status).to.equal(200)
      expect((await replay(gateway, id, stream)).status).to.equal(404)
    })
  }
})
