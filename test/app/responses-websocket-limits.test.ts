import { expect } from 'chai'
import type { JsonObject } from '../../core/contract/index.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { ANSWER_USD, budgetOf, readBudget, setBudget } from '../support/budgets.ts'
import { limitUser, withProvider } from '../support/chat-storm.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { openResponseSocket, type ResponseSocket, refusedUpgrade } from '../support/response-socket.ts'
import { chunk, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const REQUEST = { model: 'gpt-4o', max_output_tokens: 100, store: false }

/** A streamed answer that costs `ANSWER_USD`. */
const ANSWER = {
  chunks: [
    chunk({ role: 'assistant', content: 'Hi' }),
    { ...chunk({}, 'stop'), usage: { prompt_tokens: 10, completion_tokens: 40, total_tokens: 50 } },
  ],
}

const completed = (events: readonly JsonObject[]) => {
  expect(events.at(-1)).to.include({ type: 'response.completed' })
  return (events.at(-1) as { response: JsonObject }).response
}

describe('limits of Responses over WebSocket', () => {
  let provider: ScriptedProvider
  let gateway: RunningGateway
  let user: TestUser
  let sockets: ResponseSocket[]

  before(async () => {
    provider = await startScriptedProvider()
    gateway = await startGateway({ ...withProvider(provider), ...(await withSettings(UNLIMITED)) })
  })
  beforeEach(async () => {
    provider.play(ANSWER)
    user = await newUser(gateway)
    sockets = []
  })
  afterEach(() => {
    for (const { socket } of sockets) socket.terminate()
  })
  after(async () => {
    await gateway.stop()
    provider.close()
  })

  const open = async (key = user.key) => {
    const socket = await openResponseSocket(gateway.url, key)
    sockets.push(socket)
    return socket
  }

  it('limits the connections of a key and of a user', async () => {
    const openMany = (key: string) => Promise.all(Array.from({ length: 100 }, () => open(key)))
    const expectRefusal = async (key: string, message: RegExp) => {
      const refused = await refusedUpgrade(gateway.url, { authorization: `Bearer ${key}` })
      expect(refused.status).to.equal(429)
      expect(refused.headers).to.include({ 'x-error-code': 'too_many_connections', 'retry-after': '30' })
      expect(refused.body.error.message).to.match(message)
    }
    const clients = await openMany(user.key)
    await expectRefusal(user.key, /^The key has 100 /)
    const second = (await user.issueKey()).key
    const [client] = await openMany(second)
    completed(await (client as ResponseSocket).create({ ...REQUEST, input: 'Hi' }))
    await expectRefusal((await user.issueKey()).key, /^The user has 200 /)
    const neighbour = await newUser(gateway)
    completed(await (await open(neighbour.key)).create({ ...REQUEST, input: 'Hi' }))
    clients[0]?.socket.close()
    await waitUntil(() => open().catch(() => undefined))
  })

  it('limits the messages that wait, also empty ones', async () => {
    provider.play({ ...ANSWER, until: new Promise(() => undefined) })
    const client = await open()
    client.socket.send(JSON.stringify({ type: 'response.create', ...REQUEST, input: 'Hi' }))
    for (let message = 0; message < 101; message++) client.socket.send('')
    expect(await client.closed).to.equal(1008)
  })

  describe('for data that waits', () => {
    let small: RunningGateway
    before(async () => {
      const settings = await withSettings(`${UNLIMITED}limits: { body_bytes: 10000 }\n`)
      small = await startGateway({ ...withProvider(provider), ...settings })
    })
    after(() => small.stop())

    const openFive = async (key: string) => {
      const clients = await Promise.all(Array.from({ length: 5 }, () => openResponseSocket(small.url, key)))
      sockets.push(...clients)
      return clients
    }
    const firstClosed = (clients: readonly ResponseSocket[]) =>
      Promise.race(clients.map(({ closed }) => closed))

    it('of all connections of a user, while others go on', async () => {
      const [greedy, neighbour] = [await newUser(small), await newUser(small)]
      provider.play({ ...ANSWER, until: new Promise(() => undefined) })
      const clients = await openFive(greedy.key)
      const busy = JSON.stringify({ type: 'response.create', ...REQUEST, input: 'Hi' })
      const waiting = JSON.stringify({ type: 'response.create', ...REQUEST, input: 'x'.repeat(9000) })
      for (const { socket } of clients) for (const text of [busy, waiting]) socket.send(text)
      expect(await firstClosed(clients)).to.equal(1008)
      expect(clients.filter(({ socket }) => socket.readyState === socket.OPEN)).to.have.length(4)
      provider.play(ANSWER)
      const client = await openResponseSocket(small.url, neighbour.key)
      sockets.push(client)
      completed(await client.create({ ...REQUEST, input: 'x'.repeat(9000) }))
    })

    it('also of messages that are not complete, and gives it back', async () => {
      const greedy = await newUser(small)
      const clients = await openFive(greedy.key)
      for (const { socket } of clients) socket.send('x'.repeat(9000), { fin: false })
      expect(await firstClosed(clients)).to.equal(1008)
      for (const { socket } of clients) socket.terminate()
      await Promise.all(clients.map(({ closed }) => closed))
      const [client] = await openFive(greedy.key)
      for (let turn = 0; turn < 6; turn++) {
        completed(await (client as ResponseSocket).create({ ...REQUEST, input: 'x'.repeat(9000) }))
      }
    })
  })

  it('keeps the connection after a response that failed', async () => {
    const chunks = [chunk({ role: 'assistant', content: 'Hi' }), { error: { message: 'broken' } }]
    provider.play({ chunks, delayMs: 20 })
    const client = await open()
    expect((await client.create({ ...REQUEST, input: 'Hi' })).at(-1)).to.include({ type: 'response.failed' })
    provider.play(ANSWER)
    completed(await client.create({ ...REQUEST, input: 'Hi' }))
  })

  it('applies the plan of the moment to each message', async () => {
    await user.call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern: 'forbidden', action: 'block' }))
    const client = await open()
    const blocked = await client.create({ ...REQUEST, input: 'forbidden' })
    expect(blocked[0]).to.deep.include({ status: 403 })
    await user.setPlan('free')
    const { signalbox } = completed(await client.create({ ...REQUEST, input: 'forbidden' }))
    expect(signalbox).to.have.nested.property('warnings[0].code', 'plan')
  })

  it('reserves and counts the tokens of each message', async () => {
    await limitUser(gateway, user.id, { tokens_per_minute: 150 })
    const client = await open()
    completed(await client.create({ ...REQUEST, input: 'Hi' }))
    const [refused] = await client.create({ ...REQUEST, input: 'Hi' })
    expect(refused).to.include({ status: 429, code: 'token_limit_exceeded' })
  })

  it('counts messages of all connections as requests at the same time', async () => {
    await limitUser(gateway, user.id, { max_concurrent: 1 })
    let release: () => void = () => undefined
    const until = new Promise<void>((resolve) => {
      release = resolve
    })
    provider.play({ ...ANSWER, until })
    const [busy, other] = [await open(), await open()]
    const events = busy.create({ ...REQUEST, input: 'Hi' })
    await waitUntil(() => provider.last())
    const [refused] = await other.create({ ...REQUEST, input: 'Hi' })
    expect(refused).to.include({ status: 429, code: 'concurrency_limit_exceeded' })
    release()
    completed(await events)
    completed(await other.create({ ...REQUEST, input: 'Hi' }))
  })

  it('charges the budget for each message, and refuses what it does not cover', async () => {
    const budget = budgetOf.user(user.id)
    await setBudget(gateway, budget, { limit_usd: 0.0015 })
    const client = await open()
    completed(await client.create({ ...REQUEST, input: 'Hi' }))
    await waitUntil(async () => {
      const { spent_usd, reserved_usd } = await readBudget(gateway, budget)
      return reserved_usd === 0 && Math.abs(spent_usd - ANSWER_USD) < 1e-12
    })
    await setBudget(gateway, budget, { limit_usd: 0.0005 })
    const [refused] = await client.create({ ...REQUEST, input: 'Hi' })
    expect(refused).to.include({ type: 'error', code: 'budget_exceeded' })
    completed(await client.create({ ...REQUEST, input: [], generate: false }))
  })
})
