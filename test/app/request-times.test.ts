import { expect } from 'chai'
import { dump } from 'js-yaml'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import {
  chunk,
  completion,
  type ScriptedProvider,
  startScriptedProvider,
} from '../support/scripted-provider.ts'
import { writeSettings } from '../support/settings-file.ts'

const CHAT = '/v1/chat/completions'
const STREAM = [chunk({ content: 'Hi' }), chunk({ content: ' there' }), chunk({}, 'stop')]

describe('the times of a request', () => {
  let provider: ScriptedProvider
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    provider = await startScriptedProvider()
    const settings = dump({ providers: { openai: { base_url: provider.url } } })
    gateway = await startGateway({ CONFIG: await writeSettings(settings), OPENAI_API_KEY: 'sk-1' })
    user = await newUser(gateway)
    const rule = firewallRuleBody({ name: 'No falcons', pattern: 'falcon', action: 'block' })
    expect((await user.call('POST', '/v1/firewall-rules', rule)).status).to.equal(201)
  })

  after(async () => {
    await gateway.stop()
    provider.close()
  })

  async function recordOf({ headers }: Pick<Answer, 'headers'>) {
    const { status, body } = await user.call('GET', `/v1/requests/${headers.get('x-request-id')}`)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data
  }

  /** In the order in which they pass. Roundings may differ by one. */
  function expectOrder(...times: readonly number[]) {
    for (const [index, time] of times.entries())
      expect(time + 1, String(times)).to.be.at.least(times[index - 1] ?? 0)
  }

  it('are those of its steps and of its call, in their order', async () => {
    provider.play({ body: completion({ content: 'Hi' }) })
    const { times, attempts, latency_ms } = await recordOf(await user.call('POST', CHAT, chatBody('Hello')))
    const [{ start_ms, ms }] = attempts
    expectOrder(times.admitted_ms, times.read_ms, times.decided_ms, start_ms, start_ms + ms, latency_ms)
  })

  it('begin a second call where the first one ended', async () => {
    provider.play({ status: 500, body: { error: { message: 'broken' } } })
    const { times, attempts } = await recordOf(await user.call('POST', CHAT, chatBody('Hello')))
    const [first, second] = attempts
    expect(attempts).to.have.length(2)
    expectOrder(times.decided_ms, first.start_ms, first.start_ms + first.ms, second.start_ms)
  })

  it('have the first event of a stream before its end', async () => {
    let release: (() => void) | undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let written = 0
    provider.play({ chunks: STREAM, beforeChunk: () => (written++ === 1 ? held : undefined) })
    const response = await fetch(gateway.url + CHAT, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(chatBody('Hello', { stream: true })),
    })
    release?.()
    await response.text()
    const { times, attempts, first_token_ms, latency_ms } = await recordOf(response)
    expectOrder(times.decided_ms, attempts[0].start_ms, first_token_ms, latency_ms)
  })

  it('end with the step that refused it', async () => {
    const blocked = await user.call('POST', CHAT, chatBody('falcon'))
    const { times, attempts } = await recordOf(blocked)
    expect(attempts).to.deep.equal([])
    expect(times.decided_ms).to.equal(null)
    expectOrder(times.admitted_ms, times.read_ms)
    expect((await recordOf(await user.call('POST', CHAT, '{"messages":'))).times).to.equal(null)
  })
})
