import { once } from 'node:events'
import { request } from 'node:http'
import { expect } from 'chai'
import { readSettings } from '../../../config/settings/settings.ts'
import { costOf } from '../../../core/prices/cost.ts'
import { chatBody } from '../../support/bodies.ts'
import { NO_REDIS, postAs, startWithExamples } from '../../support/example-packages.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { newUser, type TestUser } from '../../support/new-user.ts'
import { waitUntil } from '../../support/wait.ts'

describe('signalbox-budget', function () {
  this.timeout(180_000)
  const USD_PER_DAY = 0.002
  let gateway: RunningGateway
  let budgeted: number
  let user: TestUser
  before(async () => {
    gateway = await startWithExamples({
      inner: [{ use: 'signalbox-budget', options: { usd_per_day: USD_PER_DAY } }],
    })
    const { usage } = (await chat(await newUser(gateway))).body
    const model = readSettings({}).models.find(({ id }) => id === 'gpt-4o') ?? expect.fail('no gpt-4o')
    const cost = costOf(model, { input: usage.prompt_tokens, output: usage.completion_tokens })
    budgeted = Math.ceil(USD_PER_DAY / cost)
    expect(budgeted).to.be.within(4, 20)
  })
  after(() => gateway.stop())
  beforeEach(async () => {
    user = await newUser(gateway)
  })

  const chat = (caller: TestUser, more: object = {}) =>
    caller.call('POST', '/v1/chat/completions', chatBody('Hello', more))

  async function askUntilRefused(ask: () => Promise<number>): Promise<number> {
    for (let allowed = 0; ; allowed++) {
      const status = await ask()
      if (status === 429) return allowed
      expect(status).to.equal(200)
    }
  }

  it('refuses requests once the budget of their user is spent', async () => {
    expect(await askUntilRefused(async () => (await chat(user)).status)).to.equal(budgeted)

    const { status, headers, body } = await chat(user)
    expect(status).to.equal(429)
    expect(body.error).to.include({
      code: 'spend_exceeded',
      type: 'rate_limit_error',
      message: 'Your budget of 0.002 US dollars per day is spent.',
    })
    expect(headers.get('x-error-code')).to.equal('spend_exceeded')
    expect(Number(headers.get('retry-after'))).to.be.within(86_000, 86_400)
    expect((await chat(await newUser(gateway))).status).to.equal(200)
  })

  it('counts streams before they end', async () => {
    const ask = async () => {
      const response = await postAs(
        user.key,
        `${gateway.url}/v1/chat/completions`,
        chatBody('Hello', { stream: true }),
      )
      await response.text()
      return response.status
    }
    expect(await askUntilRefused(ask)).to.equal(budgeted)
  })

  it('lets concurrent requests overspend by no more than those in flight', async () => {
    const clients = 8
    const allowed = await Promise.all(
      Array.from({ length: clients }, () => askUntilRefused(async () => (await chat(user)).status)),
    )
    const sum = allowed.reduce((total, count) => total + count, 0)
    expect(sum).to.be.within(budgeted, budgeted + clients - 1)
  })

  it('counts streams whose client disconnects before the usage is reported', async () => {
    const question = `${'word '.repeat(1600)}[[sandbox:token-delay=1000]]`
    const sent = request(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
    })
    sent.on('error', () => undefined)
    sent.end(JSON.stringify(chatBody(question, { stream: true })))
    const [response] = await once(sent, 'response')
    await once(response, 'data')
    sent.destroy()
    await waitUntil(async () => (await chat(user)).status === 429)
  })

  it('counts replies that fail midway', async () => {
    const question = `${'word '.repeat(1600)}[[sandbox:error-mid]]`
    const body = chatBody(question, { stream: true })
    expect(await (await postAs(user.key, `${gateway.url}/v1/chat/completions`, body)).text()).to.contain(
      'error',
    )
    await waitUntil(async () => (await chat(user)).status === 429)
  })

  it('does not count requests that fail', async () => {
    for (let number = 0; number < 2 * budgeted; number++) {
      const body = chatBody('Hello [[sandbox:status=400]]')
      expect((await user.call('POST', '/v1/chat/completions', body)).status).to.equal(400)
    }
    expect((await chat(user)).status).to.equal(200)
  })

  it('refuses models whose price is not known', async () => {
    const { status, body } = await chat(user, { model: 'openai:no-such-model' })
    expect(status).to.equal(400)
    expect(body.error).to.include({
      code: 'model_without_price',
      message: 'no-such-model has no price. Choose another model.',
    })
  })

  it('refuses requests while Redis is unavailable', async () => {
    const budget = { use: 'signalbox-budget', options: { usd_per_day: 1 } }
    const withoutRedis = await startWithExamples({ inner: [budget] }, NO_REDIS)
    const { status, body } = await withoutRedis.call('POST', '/v1/chat/completions', chatBody('Hello'))
    expect(status).to.equal(503)
    expect(body.error).to.include({ code: 'spend_unavailable' })
    await withoutRedis.stop()
  })

  it('describes its errors in /openapi.json', async () => {
    const { body } = await gateway.call('GET', '/openapi.json')
    expect(JSON.stringify(body)).to.contain('spend_exceeded')
  })

  it('stops the start without a budget', async () => {
    const error = await startWithExamples({ inner: ['signalbox-budget'] }).then(
      () => expect.fail('started'),
      (thrown: Error) => thrown,
    )
    expect(error.message).to.contain('the options of plugin "signalbox-budget" are not valid')
  })
})
