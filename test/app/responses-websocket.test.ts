import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'chai'
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { openSocket, readToEnd } from '../support/raw-http.ts'
import { connectSocket, openResponseSocket, refusedUpgrade } from '../support/response-socket.ts'
import { withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const SETTINGS = `
rate_limits: { requests_per_minute: { free: 4, paid: null } }
limits: { body_bytes: 20000 }
cors: { origins: ['https://app.example.com'] }
`

const MODEL = 'gpt-5.4-mini'

const said = (text: string) => [{ type: 'message', role: 'user', content: text }]

describe('Responses over WebSocket', () => {
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    gateway = await startGateway(await withSettings(SETTINGS))
    user = await newUser(gateway)
  })
  after(() => gateway.stop())

  const open = (headers?: Record<string, string>) => openResponseSocket(gateway.url, user.key, headers)
  const record = async (id: unknown) => (await user.call('GET', `/v1/requests/${id}`)).body.data

  it('streams the events of several responses, one after the other, and stores them', async () => {
    const client = await open()
    const events = await client.create({ model: MODEL, input: said('One') }, { model: MODEL, input: 'Two' })
    const length = events.findIndex(({ type }) => type === 'response.completed') + 1
    const [first, second] = [events.slice(0, length), events.slice(length)]
    expect(first.map(({ sequence_number }) => sequence_number)).to.deep.equal([...first.keys()])
    expect(first[0]).to.include({ type: 'response.created' })
    expect(first.at(-1)).to.include({ type: 'response.completed' })
    expect(second.map(({ type }) => type)).to.include.members(['response.created', 'response.completed'])
    expect(second.map(({ sequence_number }) => sequence_number)).to.deep.equal([...second.keys()])
    const { response } = first.at(-1) as { response: { id: string; x_request_id: string } }
    const stored = await user.call('GET', `/v1/responses/${response.id}`)
    expect(stored.body).to.deep.include({ id: response.id, status: 'completed' })
    expect(await record(response.x_request_id)).to.include({ endpoint: '/v1/responses', status: 200 })
    client.socket.close()
    expect(await client.closed).to.equal(1005)
  })

  it('works with the official SDK', async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: user.key })
    const socket = new ResponsesWS(client)
    socket.send({ type: 'response.create', model: MODEL, input: 'Hello' })
    let text = ''
    for await (const event of socket) {
      if (event.type === 'error') throw event.error
      if (event.type !== 'message') continue
      if (event.message.type === 'response.output_text.delta') text += event.message.delta
      if (event.message.type === 'response.completed') break
    }
    socket.close()
    expect(text).to.contain('Hello')
  })

  it('continues stored responses, and those that the connection alone remembers', async () => {
    const client = await open()
    const prompt = 'My name is Alice.'
    let previous: unknown = null
    for (const store of [true, false, false]) {
      const events = await client.create({
        model: MODEL,
        store,
        input: said(prompt),
        previous_response_id: previous,
      })
      expect(events.at(-1)).to.include({ type: 'response.completed' })
      const { response } = events.at(-1) as { response: { id: string; usage: { input_tokens: number } } }
      previous = response.id
    }
    const other = await open()
    const [error] = await other.create({ model: MODEL, input: said('Who?'), previous_response_id: previous })
    expect(error).to.deep.include({ type: 'error', status: 400, param: 'previous_response_id' })
    expect(error).to.have.nested.property('error.code', 'previous_response_not_found')
    for (const { socket } of [client, other]) socket.close()
  })

  it('sends the turns of responses that are not stored to the model', async () => {
    const client = await open()
    const first = await client.create({ model: MODEL, store: false, input: said('My name is Alice.') })
    const { id } = (first.at(-1) as { response: { id: string } }).response
    const next = { model: MODEL, store: false, input: said('Who am I?') }
    const second = await client.create({ ...next, previous_response_id: id })
    const alone = await client.create(next)
    const inputTokens = (events: readonly object[]) =>
      (events.at(-1) as { response: { usage: { input_tokens: number } } }).response.usage.input_tokens
    expect(inputTokens(second)).to.be.greaterThan(inputTokens(alone))
    client.socket.close()
  })

  it('forgets a response that is not stored when a request fails to continue it', async () => {
    const client = await open()
    const first = await client.create({ model: MODEL, store: false, input: said('The word is ember.') })
    const { id } = (first.at(-1) as { response: { id: string } }).response
    const next = { model: MODEL, store: false, previous_response_id: id }
    const output = { type: 'function_call_output', call_id: 'call_missing', output: 'none' }
    const [failed] = await client.create({ ...next, input: [output] })
    expect(failed).to.include({ type: 'error', status: 400, param: 'input[0].call_id' })
    expect(failed).to.have.nested.property('error.message').that.contains('call_missing')
    const [stale] = await client.create({ ...next, input: said('Which word?') })
    expect(stale).to.have.nested.property('error.code', 'previous_response_not_found')
    client.socket.close()
  })

  it('prepares a request without calling a model', async () => {
    const client = await open()
    const events = await client.create({
      model: MODEL,
      generate: false,
      store: false,
      instructions: 'Be brief.',
    })
    expect(events.map(({ type }) => type)).to.deep.equal([
      'response.created',
      'response.in_progress',
      'response.completed',
    ])
    const { response } = events.at(-1) as { response: { id: string; usage: object; x_request_id: string } }
    expect(response.usage).to.include({ input_tokens: 0, output_tokens: 0 })
    expect(await record(response.x_request_id)).to.deep.include({ attempts: [], cost_usd: 0 })
    const next = await client.create({ model: MODEL, input: said('Hi'), previous_response_id: response.id })
    expect(next.at(-1)).to.include({ type: 'response.completed' })
    client.socket.close()
  })

  it('answers errors as messages, and keeps the connection', async () => {
    const client = await open()
    await user.call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern: 'forbidden', action: 'block' }))
    const [blocked] = await client.create({ model: MODEL, input: said('a forbidden word') })
    expect(blocked).to.deep.include({ type: 'error', status: 403 })
    expect(blocked).to.have.nested.property('error.meta.rule_id')
    expect(blocked).to.have.nested.property('headers.x-error-code', 'firewall_blocked')
    const id = (blocked as { headers: Record<string, string> }).headers['x-request-id']
    expect(await record(id)).to.include({ status: 403 })

    expect(await client.send('no JSON')).to.deep.include({ type: 'error', status: 400 })
    expect(await client.send('{"type":"response.cancel"}')).to.include({ status: 400, param: 'type' })
    const [unknown] = await client.create({ model: 'no-such-model', input: 'Hi' })
    expect(unknown).to.include({ status: 404, code: 'model_not_found' })
    const [multiplexed] = await client.create({ model: MODEL, input: 'Hi', stream_id: 'a' })
    expect(multiplexed).to.include({ status: 400, param: 'stream_id' })
    const [empty] = await client.create({ model: MODEL, input: [] })
    expect(empty).to.include({ status: 400, param: 'input', message: 'input must not be empty.' })
    expect((await client.create({ model: MODEL, input: 'Hi' })).at(-1)).to.include({
      type: 'response.completed',
    })
    client.socket.close()
  })

  it('counts every message against the rate limit', async () => {
    const limited = await newUser(gateway, 'free')
    const client = await openResponseSocket(gateway.url, limited.key)
    const outcomes: unknown[] = []
    for (let index = 0; index < 4; index++) {
      const events = await client.create({ model: MODEL, input: 'Hi' })
      outcomes.push(events.at(-1)?.status ?? events.at(-1)?.type)
    }
    expect(outcomes).to.deep.equal(['response.completed', 'response.completed', 'response.completed', 429])
    client.socket.close()
  })

  it('checks the key with every message', async () => {
    const leaving = await newUser(gateway)
    const client = await openResponseSocket(gateway.url, leaving.key)
    await leaving.revokeKey(leaving.keyId)
    const [error] = await client.create({ model: MODEL, input: 'Hi' })
    expect(error).to.deep.include({ type: 'error', status: 401, code: 'invalid_api_key' })
    expect(await client.closed).to.equal(1008)
  })

  it('refuses an upgrade without a valid key, from a page of another origin, and without its headers', async () => {
    const unknown = await refusedUpgrade(gateway.url, { authorization: 'Bearer tr_wrong' })
    expect(unknown.status).to.equal(401)
    expect(unknown.body.error).to.include({ code: 'invalid_api_key' })
    const authorization = `Bearer ${user.key}`
    const foreign = await refusedUpgrade(gateway.url, { authorization, origin: 'https://evil.example' })
    expect(foreign.status).to.equal(403)
    expect(foreign.headers['x-error-code']).to.equal('origin_not_allowed')
    for (const origin of ['https://app.example.com', gateway.url]) {
      const socket = connectSocket(gateway.url, { authorization, origin })
      await once(socket, 'open')
      socket.close()
    }
    const plain = await user.call('GET', '/v1/responses')
    expect(plain.status).to.equal(426)
    expect(plain.headers.get('upgrade')).to.equal('websocket')
  })

  it('closes the connection of a refused upgrade, even if the client keeps its side open', async () => {
    const { hostname, port } = new URL(gateway.url)
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    socket.write(
      'GET /v1/responses HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n' +
        `sec-websocket-version: 13\r\nsec-websocket-key: ${'A'.repeat(22)}==\r\n\r\n`,
    )
    await once(socket.resume(), 'end')
    // Writing to a connection that the other side has closed fails, but not at the first time.
    const failed = once(socket, 'error').then(([error]) => error as NodeJS.ErrnoException)
    await waitUntil(() => {
      socket.write('x')
      return socket.destroyed
    })
    expect((await failed).code).to.be.oneOf(['EPIPE', 'ECONNRESET'])
  })

  it('closes the connection of a message over the size limit', async () => {
    const client = await open()
    client.socket.send(JSON.stringify({ type: 'response.create', input: 'x'.repeat(20_001) }))
    expect(await client.closed).to.equal(1009)
  })

  it('cancels the response of a client that disconnects', async () => {
    const client = await open()
    const started = await client.send(
      JSON.stringify({ type: 'response.create', model: MODEL, input: 'Hello [[sandbox:token-delay=10000]]' }),
    )
    client.socket.terminate()
    await gateway.wrote('"status":"client_disconnected"')
    const { x_request_id } = (started as { response: { x_request_id: string } }).response
    expect(await record(x_request_id)).to.include({ aborted: true })
  })

  it('serves other offers to upgrade as ordinary requests', async () => {
    const body = JSON.stringify({ model: MODEL, input: 'Hello' })
    const socket = await openSocket(gateway.url)
    socket.write(
      `POST /v1/responses HTTP/1.1\r\nhost: a\r\nconnection: upgrade, http2-settings, close\r\nupgrade: h2c\r\n` +
        `authorization: Bearer ${user.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    expect(await readToEnd(socket)).to.match(/^HTTP\/1.1 200 OK[\s\S]*"status":"completed"/)
  })

  it('ends responses before the connection closes when the gateway stops', async () => {
    const stopping = await startGateway()
    const idle = await openResponseSocket(stopping.url, stopping.demoKey)
    const busy = await openResponseSocket(stopping.url, stopping.demoKey)
    const started = once(busy.socket, 'message')
    const events = busy.create({ model: MODEL, input: 'Hello [[sandbox:token-delay=20]]' })
    await started
    const [codes] = await Promise.all([Promise.all([idle.closed, busy.closed]), stopping.stop()])
    expect(codes).to.deep.equal([1001, 1001])
    expect((await events).at(-1)).to.include({ type: 'response.completed' })
  })
})
