import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway, startGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { findLeaks, place, readPlaces } from '../support/leaks.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import {
  chunk,
  completion,
  type ScriptedProvider,
  startScriptedProvider,
} from '../support/scripted-provider.ts'
import { writeSettings } from '../support/settings-file.ts'
import { waitUntil } from '../support/wait.ts'

const CHAT = '/v1/chat/completions'
const SECRET = 'walrus-4711-0815'
const REPLY = 'Seventeen-amber-otters-paint-the-viaduct'

const newKey = () => randomBytes(32).toString('base64')

describe('recorded replies', () => {
  let provider: ScriptedProvider
  let gateway: RunningGateway
  let user: TestUser

  async function start(ledger: object): Promise<RunningGateway> {
    const settings = {
      ledger,
      providers: { openai: { base_url: provider.url } },
      firewall: { evaluate_responses: true },
    }
    const CONFIG = await writeSettings(dump(settings))
    return startGatewayOnFiles({ CONFIG, OPENAI_API_KEY: 'sk-1', RECORD_KEY: newKey() })
  }

  async function addRule(caller: TestUser, more: object): Promise<void> {
    const { status, body } = await caller.call('POST', '/v1/firewall-rules', firewallRuleBody(more))
    expect(status, JSON.stringify(body)).to.equal(201)
  }

  before(async () => {
    provider = await startScriptedProvider()
    gateway = await start({ record_prompts: 'masked', record_replies: true, max_prompt_chars: 2000 })
    user = await newUser(gateway)
    await addRule(user, { name: 'M', pattern: SECRET, action: 'mask', replacement: '[masked]', priority: 1 })
    await addRule(user, { name: 'B', pattern: 'forbidden', action: 'block', priority: 9, scope: 'response' })
  })

  after(async () => {
    await gateway?.stop()
    provider.close()
  })

  const ask = (caller = user, more = {}) => caller.call('POST', CHAT, chatBody(SECRET, more))

  const open = (caller: TestUser, signal?: AbortSignal) =>
    fetch(gateway.url + CHAT, {
      method: 'POST',
      headers: { authorization: `Bearer ${caller.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(chatBody(SECRET, { stream: true })),
      ...(signal && { signal }),
    })

  const read = (of: RunningGateway, { headers }: { readonly headers: Headers }) =>
    of.call('GET', `/admin/requests/${headers.get('x-request-id')}/prompt`, undefined, AS_ADMIN)

  async function replyTo(answer: { readonly headers: Headers }, of = gateway) {
    const { status, body } = await read(of, answer)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data.reply
  }

  it('do not have what the masks of the request took out, when the model writes it again', async () => {
    provider.play({ body: completion({ content: `${REPLY} ${SECRET}` }) })
    const answer = await ask()
    expect(answer.body.choices[0].message.content).to.equal(`${REPLY} ${SECRET}`)
    expect(await replyTo(answer)).to.deep.equal({
      message: { role: 'assistant', content: `${REPLY} [masked]` },
      omission: null,
      finish_reason: 'stop',
      is_complete: true,
      left_out: [],
    })
    const secrets = { secret: SECRET, reply: REPLY }
    const places = await readPlaces(gateway.dataDir)
    // The rule has the word, too.
    const others = places.filter(({ name }) => !name.startsWith('events.db'))
    expect(others.map(({ name }) => name)).to.include('ledger.db')
    expect(findLeaks(secrets, others)).to.deep.equal([])
    expect(findLeaks(secrets, [place('log', gateway.stderr())])).to.deep.equal([])
  })

  it('are masked also where a stream divides it, and in arguments of tools', async () => {
    provider.play({
      chunks: [chunk({ content: 'walrus-4711' }), chunk({ content: '-0815 it is' }), chunk({}, 'stop')],
    })
    const response = await open(user)
    expect(await response.text()).to.contain('walrus-4711')
    expect((await replyTo(response)).message.content).to.equal('[masked] it is')

    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'find', arguments: `{"name":"${SECRET}"}` },
    }
    provider.play({ body: completion({ content: null, tool_calls: [call] }) })
    const { message } = await replyTo(await ask())
    expect(message.tool_calls[0].function).to.deep.equal({ name: 'find', arguments: '{"name":"[masked]"}' })
  })

  it('have no text of a reply that a rule blocked, or that is too long', async () => {
    provider.play({ body: completion({ content: `forbidden ${SECRET}` }) })
    const blocked = await ask()
    expect(blocked.status).to.equal(403)
    expect(await replyTo(blocked)).to.include({ omission: 'refused', message: null })
    provider.play({ body: completion({ content: 'x '.repeat(2000) }) })
    expect(await replyTo(await ask())).to.include({ omission: 'too_long', message: null })
  })

  it('are what was sent of a reply whose client left, unless there is something to mask', async () => {
    const other = await newUser(gateway)
    for (const [caller, expected] of [
      [other, { omission: null, is_complete: false }],
      [user, { omission: 'unmasked', message: null }],
    ] as const) {
      const chunks = [chunk({ content: REPLY }), chunk({ content: ' and so on' }), chunk({}, 'stop')]
      const never = new Promise<void>(() => undefined)
      let written = 0
      provider.play({ chunks, beforeChunk: () => (++written > 1 ? never : undefined) })
      const abort = new AbortController()
      const response = await open(caller, abort.signal)
      await response.body?.getReader().read()
      abort.abort()
      await waitUntil(async () => (await read(gateway, response)).status === 200)
      expect(await replyTo(response)).to.include(expected)
    }
  })

  it('are not there for a request without a reply, and by default', async () => {
    provider.play({ status: 400, body: { error: { message: 'no' } } })
    expect(await replyTo(await ask())).to.equal(null)
    provider.play({ body: completion({ content: REPLY }) })
    const plain = await start({ record_prompts: 'full' })
    const answer = await (await newUser(plain)).call('POST', CHAT, chatBody('Hello'))
    expect(await replyTo(answer, plain)).to.equal(null)
    await plain.stop()
  })

  it('need recorded prompts', async () => {
    const CONFIG = await writeSettings(dump({ ledger: { record_replies: true } }))
    const error = await startGateway({ CONFIG }).then(
      () => 'it started',
      (thrown: Error) => thrown.message,
    )
    expect(error).to.contain('ledger.record_replies requires ledger.record_prompts')
  })
})
