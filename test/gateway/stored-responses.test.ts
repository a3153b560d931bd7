import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import OpenAI from 'openai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { startEventStore } from '../support/eventstore/server.ts'
import { ADMIN_KEY, makeFolder, type RunningGateway, startGateway } from '../support/gateway.ts'
import { INSPECTED, openHeap } from '../support/heap.ts'
import { providersAt } from '../support/providers.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

const model = 'gpt-4o'

interface Text {
  readonly status: number
  readonly text: string
}

/** An answer as it came over the wire, to be compared byte for byte. */
async function send(
  gateway: RunningGateway,
  path: string,
  body: object,
  key = gateway.demoKey,
): Promise<Text> {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}

const create = (gateway: RunningGateway, body: object) => send(gateway, '/v1/responses', { model, ...body })
const replay = (gateway: RunningGateway, id: string, stream: boolean) =>
  send(gateway, `/v1/responses/${id}`, { stream })

/** Without what differs by request: `x_request_id`. */
const constant = (text: string) => text.replaceAll(/"x_request_id":"req_\w+"/g, '"x_request_id":""')
const idIn = (text: string) => /resp_\w{24}/.exec(text)?.[0] ?? ''
const hasEnded = (text: string, stream: boolean) =>
  stream ? text.includes('event: response.completed\n') && text.endsWith('\n\n') : text.endsWith('}')

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
      it(`as they were answered, ${stream ? 'event by event' : 'whole'}, by both ids`, async () => {
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

    it('under the id of the request that asks', async () => {
      const id = idIn((await create(gateway, { input: 'x' })).text)
      const { body, headers } = await gateway.call('POST', `/v1/responses/${id}`)
      expect(body.x_request_id).to.equal(headers.get('x-request-id'))
    })

    it('as a stream where they were answered whole, and the other way round', async () => {
      const whole = JSON.parse((await create(gateway, { input: [{ role: 'user', content: 'x' }] })).text)
      const streamed = await replay(gateway, whole.id, true)
      const last = JSON.parse(/event: response\.completed\ndata: (.*)/.exec(streamed.text)?.[1] ?? '')
      expect({ ...last.response, x_request_id: '' }).to.deep.equal({ ...whole, x_request_id: '' })

      const { text } = await create(gateway, { input: 'x', stream: true })
      const { body } = await gateway.call('POST', `/v1/responses/${idIn(text)}`, {})
      expect(text).to.contain(JSON.stringify(body.output))
    })

    it('with output_text for an OpenAI client, in whatever form they were answered', async () => {
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

  it("are deleted with OpenAI's answer, and then unknown", async () => {
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

  it('are not there with store:false', async () => {
    const { text } = await create(gateway, { input: 'x', store: false })
    expect(JSON.parse(text).store).to.equal(false)
    expect((await replay(gateway, idIn(text), false)).status).to.equal(404)
  })

  it("of another user's are unknown", async () => {
    const id = idIn((await create(gateway, { input: 'Mine' })).text)
    const admin = { authorization: `Bearer ${ADMIN_KEY}` }
    const user = await gateway.call('POST', '/admin/users', { name: 'stranger', plan: 'free' }, admin)
    const key = await gateway.call('POST', `/admin/users/${user.body.data.id}/keys`, undefined, admin)
    const authorization = `Bearer ${key.body.data.key}`
    const call = (method: string, path: string, body?: object) =>
      gateway.call(method, path, body, { authorization })
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

    it('when the provider failed half-way', async () => {
      const { text } = await create(gateway, { input: 'Go [[sandbox:cut=3 token-delay=5]]', stream: true })
      expect(text).to.contain('event: response.failed')
      await conflict(idIn(text))
      expect((await gateway.call('GET', `/v1/responses/${idIn(text)}`)).body.status).to.equal('failed')
    })

    it('when the call failed before it was answered', async () => {
      const { status, headers } = await gateway.call('POST', '/v1/responses', { model: 'gpt-99', input: 'x' })
      expect(status).to.equal(404)
      await conflict(headers.get('x-request-id') ?? '')
    })

    it('while they are being answered', async () => {
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

  it('expire, and are then gone', async () => {
    const short = await startGateway(await withSettings(`${UNLIMITED}responses: { retention_days: 0.00002 }`))
    const id = idIn((await create(short, { input: 'x' })).text)
    expect((await replay(short, id, false)).status).to.equal(200)
    while ((await replay(short, id, false)).status === 200) await new Promise(setImmediate)
    expect((await replay(short, id, false)).status).to.equal(404)
    await short.stop()
  })

  it('are kept on an event log server just as well', async () => {
    const server = await startEventStore()
    const environment = { ...providersAt(sandbox), EVENTSTORE_URL: server.connectionString }
    const first = await startGateway(environment)
    const answered = await create(first, { input: 'Remote', stream: true })
    await first.stop()
    const second = await startGateway(environment, { demoKey: first.demoKey })
    const id = idIn(answered.text)
    expect(constant((await replay(second, id, true)).text)).to.equal(constant(answered.text))
    expect((await second.call('DELETE', `/v1/responses/${id}`)).status).to.equal(200)
    expect((await replay(second, id, true)).status).to.equal(404)
    await second.stop()
    await server.stop()
  })

  it('are there after a restart, and after every SIGKILL', async function () {
    this.timeout(120_000)
    const dataDir = await makeFolder()
    const answered = new Map<string, { text: string; stream: boolean }>()
    let demoKey: string | undefined
    for (const signal of ['SIGKILL', 'SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGKILL', 'SIGTERM'] as const) {
      const gateway = await startGateway(providersAt(sandbox), { dataDir, ...(demoKey && { demoKey }) })
      demoKey = gateway.demoKey
      await expectAll(gateway, answered)
      await stopWhileAnswering(gateway, signal, answered)
    }
    const gateway = await startGateway(providersAt(sandbox), { dataDir, demoKey: demoKey ?? '' })
    await expectAll(gateway, answered)
    await gateway.stop()
    expect(answered.size).to.be.greaterThan(100)
  })

  async function expectAll(
    gateway: RunningGateway,
    answered: ReadonlyMap<string, { text: string; stream: boolean }>,
  ) {
    for (const [id, { text, stream }] of answered)
      expect(constant((await replay(gateway, id, stream)).text), id).to.equal(constant(text))
  }

  /** Eight clients at once; the signal comes in the middle of their answers. */
  async function stopWhileAnswering(
    gateway: RunningGateway,
    signal: NodeJS.Signals,
    answered: Map<string, { text: string; stream: boolean }>,
  ) {
    const enough = answered.size + 20
    let stopped: Promise<unknown> | undefined
    const work = async (client: number) => {
      for (let n = 0; stopped === undefined; n++) {
        const stream = n % 2 === 0
        const body = { model, input: `client ${client} call ${n}`, stream }
        const text = await readAll(gateway, body)
        if (hasEnded(text, stream)) answered.set(idIn(text), { text, stream })
        if (answered.size >= enough) stopped ??= gateway.stop(signal)
      }
    }
    await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(work))
    await stopped
  }

  /** What came of an answer, however it ended. */
  async function readAll(gateway: RunningGateway, body: object): Promise<string> {
    let text = ''
    try {
      const response = await fetch(`${gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const decoder = new TextDecoder()
      for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true })
    } catch {
      // Killed in the middle.
    }
    return text
  }
})

describe('1,000 streamed responses at once', () => {
  it('are all stored, and leave no memory behind', async function () {
    this.timeout(120_000)
    const sandbox = await startSandbox()
    const folder = await makeFolder()
    const CONFIG = path.join(folder, 'settings.yaml')
    const plugins = [
      'auth',
      'plan',
      { use: 'trace', options: { kept_requests: 1 } },
      'responses',
      'firewall',
      'routing',
      'dispatch',
      'decorate',
    ]
    await writeFile(CONFIG, JSON.stringify({ plugins }))
    const gateway = await startGateway({ ...providersAt(sandbox), ...INSPECTED, CONFIG, LOG_LEVEL: 'warn' })
    const heap = await openHeap(gateway.stderr())
    const wave = (count: number) =>
      Promise.all(
        Array.from({ length: count }, (_, n) =>
          create(gateway, { input: `Number ${n} [[sandbox:token-delay=20]]`, stream: true }),
        ),
      )

    await wave(1000)
    const before = await heap.weigh()
    const answers = await wave(1000)
    const after = await heap.weigh()

    expect(after - before).to.be.lessThan(5)
    for (const { text } of answers) {
      const { status, text: again } = await replay(gateway, idIn(text), true)
      expect(status).to.equal(200)
      expect(constant(again)).to.equal(constant(text))
    }
    heap.close()
    await gateway.stop()
    await sandbox.close()
  })
})
