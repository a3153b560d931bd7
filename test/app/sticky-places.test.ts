import { expect } from 'chai'
import { type Answer, type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { routingRule } from '../support/policies.ts'
import { requireRedis } from '../support/redis.ts'
import { type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { PATIENT_WITH_REDIS, withSettings } from '../support/settings.ts'
import {
  CHEAP_INPUT,
  CHEAP_OUTPUT,
  conversation,
  LONG_REPLY,
  playUsage,
  SHORT_REPLY,
  stickySettings,
} from '../support/sticky.ts'

describe('conversations with routing.sticky', function () {
  this.timeout(120_000)
  let provider: ScriptedProvider
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    provider = await startScriptedProvider()
    const settings = stickySettings(provider.url).replace(`"${CHEAP_OUTPUT}",`, '$&"zdr":true,')
    const breaker = 'breaker: { min_requests: 1, open_ms: 600000 }\n'
    gateway = await startGatewayOnFiles(await withSettings(settings + breaker))
  })
  beforeEach(async () => {
    user = await newUser(gateway)
    playUsage(provider)
  })
  after(async () => {
    await gateway?.stop()
    provider?.close()
  })

  const ask = async (body: object, headers: Record<string, string> = {}): Promise<Answer> => {
    const answer = await user.call('POST', '/v1/chat/completions', { model: 'auto:cost', ...body }, headers)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer
  }
  const sent = () => provider.last()?.body.model

  it('are told apart by prompt_cache_key before the session', async () => {
    const session = { 'x-session-id': 'one' }
    await ask({ ...conversation('One'), ...SHORT_REPLY, prompt_cache_key: 'first' }, session)
    await ask({ ...conversation('One'), ...LONG_REPLY, prompt_cache_key: 'second' }, session)
    expect(sent()).to.equal(CHEAP_OUTPUT)
    await ask(
      { ...conversation('Other'), ...LONG_REPLY, prompt_cache_key: 'first' },
      { 'x-session-id': 'two' },
    )
    expect(sent()).to.equal(CHEAP_INPUT)
    // A key and a session of the same name are not the same.
    await ask({ ...conversation('One'), ...LONG_REPLY }, { 'x-session-id': 'first' })
    expect(sent()).to.equal(CHEAP_OUTPUT)
  })

  it('leave a model that no longer meets a requirement, at once', async () => {
    await ask({ ...conversation('One'), ...SHORT_REPLY })
    await ask({ ...conversation('One', 'Two'), ...LONG_REPLY })
    expect(sent()).to.equal(CHEAP_INPUT)
    const rule = routingRule({ require: { zdr: true } }, { match_json: { contains: 'patients' } })
    await user.call('POST', '/v1/routing-rules', rule)
    const { body } = await ask({ ...conversation('One', 'Two', 'Now patients'), ...SHORT_REPLY })
    expect(sent()).to.equal(CHEAP_OUTPUT)
    expect(body.signalbox).not.to.have.property('kept_for_prompt_cache')
  })

  it('leave a model whose circuit is open without trying it', async () => {
    await ask({ ...conversation('One'), ...SHORT_REPLY })
    provider.play({ body: { error: { message: 'broken' } }, status: 500 })
    const other = { model: CHEAP_INPUT, messages: [{ role: 'user', content: 'Something else' }] }
    const { status } = await user.call('POST', '/v1/chat/completions', other)
    expect(status).to.equal(502)
    playUsage(provider)
    const { requests } = provider.counts
    const { body } = await ask({ ...conversation('One', 'Two'), ...LONG_REPLY })
    expect([sent(), provider.counts.requests - requests]).to.deep.equal([CHEAP_OUTPUT, 1])
    expect(body.signalbox).not.to.have.property('kept_for_prompt_cache')
  })

  it('stay with their model on another node with Redis, for the same user alone', async function () {
    const redis = await requireRedis(this)
    const yaml = stickySettings(provider.url).replace(/^rate_limits: \{/, `$& ${PATIENT_WITH_REDIS},`)
    const environment = { ...(await withSettings(yaml)), REDIS_URL: redis.url }
    const first = await startGatewayOnFiles(environment)
    const { dataDir, demoKey } = first
    const second = await startGatewayOnFiles(environment, { dataDir, demoKey })
    const own = await newUser(first)
    const other = await newUser(first)
    const send = async (node: RunningGateway, { key }: TestUser, content: object) => {
      const body = { model: 'auto:cost', ...content }
      const headers = { authorization: `Bearer ${key}`, 'x-session-id': 'one' }
      const answer = await node.call('POST', '/v1/chat/completions', body, headers)
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      return sent()
    }
    expect(await send(first, own, { ...conversation('One'), ...SHORT_REPLY })).to.equal(CHEAP_INPUT)
    expect(await send(second, other, { ...conversation('One', 'Two'), ...LONG_REPLY })).to.equal(CHEAP_OUTPUT)
    expect(await send(second, own, { ...conversation('One', 'Two'), ...LONG_REPLY })).to.equal(CHEAP_INPUT)
    expect(await send(first, own, { ...conversation('One', 'Two', 'Three'), ...LONG_REPLY })).to.equal(
      CHEAP_INPUT,
    )
    // Without Redis, each node knows what it has seen.
    await redis.kill()
    expect(await send(second, own, { ...conversation('One', 'Two', 'Three'), ...LONG_REPLY })).to.equal(
      CHEAP_INPUT,
    )
    await Promise.all([first.stop(), second.stop()])
    await redis.stop()
  })
})
