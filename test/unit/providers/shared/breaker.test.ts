import { expect } from 'chai'
import { type ErrorCode, type ErrorDetails, GatewayError } from '../../../../core/contract/index.ts'
import { type CircuitBreakers, createCircuitBreakers } from '../../../../providers/shared/breaker.ts'
import { type StoppedClock, stopClock } from '../../../support/clock.ts'
import { model } from '../../../support/models.ts'

const loco = model('loco', 'acme')
const target = { provider: 'acme', model: 'loco', entry: loco }

describe('circuit breakers', () => {
  let clock: StoppedClock
  let breakers: CircuitBreakers

  beforeEach(() => {
    clock = stopClock()
    breakers = createCircuitBreakers({ failures: 3, open_ms: 1000 })
  })
  afterEach(() => clock.restore())

  const isUsable = () => breakers.isUsable(loco)
  const states = () => [...breakers.breakers()].map(({ state }) => state)
  const succeed = () => breakers.guard(target, async () => 'reply')
  const failWith = (error: unknown) =>
    breakers.guard(target, () => Promise.reject(error)).catch((thrown) => thrown)
  const fail = (code: ErrorCode = 'provider_error', details: ErrorDetails = {}) =>
    failWith(new GatewayError(code, 'It failed.', details))
  const failTimes = async (times: number) => {
    for (let time = 0; time < times; time++) await fail()
  }

  it('lets calls through at first', async () => {
    expect(isUsable()).to.equal(true)
    expect(await succeed()).to.equal('reply')
    expect(states()).to.deep.equal(['closed'])
  })

  it('lets calls through after fewer failures than the limit', async () => {
    await failTimes(2)
    expect(isUsable()).to.equal(true)
    expect(await succeed()).to.equal('reply')
  })

  it('opens after consecutive failures, and rejects calls with a retry-after', async () => {
    await failTimes(3)
    expect(isUsable()).to.equal(false)
    expect(states()).to.deep.equal(['open'])
    const error = await breakers.guard(target, () => expect.fail('called')).catch((thrown) => thrown)
    expect(error).to.be.instanceOf(GatewayError).and.include({
      code: 'model_unavailable',
      message: 'acme/loco is temporarily unavailable (circuit open).',
      mayFailOver: true,
    })
    expect(error).to.have.deep.property('details', { retryAfter: 1 })
  })

  it('does not count failures before a success', async () => {
    await failTimes(2)
    await succeed()
    await failTimes(2)
    expect(isUsable()).to.equal(true)
  })

  it('does not count earlier failures when a call succeeds that began before them', async () => {
    const { promise, resolve } = withResolvers<string>()
    const slow = breakers.guard(target, () => promise)
    await failTimes(2)
    resolve('reply')
    await slow
    await failTimes(2)
    expect(isUsable()).to.equal(true)
  })

  it('does not affect other models of the provider, nor the same model of another', async () => {
    await failTimes(3)
    expect(breakers.isUsable(model('tender', 'acme'))).to.equal(true)
    expect(breakers.isUsable(model('loco', 'other'))).to.equal(true)
  })

  it('counts failures of a model that is not in the catalogue', async () => {
    const unlisted = { provider: 'acme', model: 'tender' }
    const error = new GatewayError('provider_error', 'It failed.')
    for (let time = 0; time < 3; time++)
      await breakers.guard(unlisted, () => Promise.reject(error)).catch(() => undefined)
    const thrown = await breakers.guard(unlisted, () => expect.fail('called')).catch((thrown) => thrown)
    expect(thrown).to.have.property('code', 'model_unavailable')
  })

  it('lets one probe through after the cooldown, and rejects other calls until it has ended', async () => {
    await failTimes(3)
    clock.pass(1000)
    expect(isUsable()).to.equal(true)
    expect(states()).to.deep.equal(['half_open'])
    const { promise, resolve } = withResolvers<string>()
    const probe = breakers.guard(target, () => promise)
    expect(isUsable()).to.equal(false)
    expect(states()).to.deep.equal(['half_open'])
    expect(await succeed().catch((error) => error.code)).to.equal('model_unavailable')
    resolve('reply')
    expect(await probe).to.equal('reply')
    expect(isUsable()).to.equal(true)
    expect(states()).to.deep.equal(['closed'])
    expect(await succeed()).to.equal('reply')
  })

  it('doubles the cooldown with each failed probe, up to twelve times the first cooldown', async () => {
    await failTimes(3)
    for (const cooldown of [1000, 2000, 4000, 8000, 12_000, 12_000]) {
      clock.pass(cooldown - 1)
      expect(isUsable(), `before ${cooldown}`).to.equal(false)
      clock.pass(1)
      expect(isUsable(), `after ${cooldown}`).to.equal(true)
      await fail()
    }
  })

  it('starts with the first cooldown again after it was closed', async () => {
    await failTimes(3)
    clock.pass(1000)
    await fail()
    clock.pass(2000)
    await succeed()
    await failTimes(3)
    clock.pass(1000)
    expect(isUsable()).to.equal(true)
  })

  it('closes if the probe gets a client error, but opens again with the next failure', async () => {
    await failTimes(3)
    clock.pass(1000)
    await fail('provider_refused')
    expect(states()).to.deep.equal(['closed'])
    expect(isUsable()).to.equal(true)
    await fail()
    expect(states()).to.deep.equal(['open'])
    clock.pass(1000)
    expect(isUsable()).to.equal(true)
  })

  it('opens again when an earlier call fails during the probe', async () => {
    const earlier = withResolvers<never>()
    const slow = breakers.guard(target, () => earlier.promise).catch(() => undefined)
    await failTimes(3)
    clock.pass(1000)
    const probe = withResolvers<string>()
    const probing = breakers.guard(target, () => probe.promise)
    earlier.reject(new GatewayError('provider_timeout', 'It failed.'))
    await slow
    expect(states()).to.deep.equal(['open'])
    probe.resolve('reply')
    await probing
    expect(isUsable()).to.equal(false)
  })

  it('stays open when a call succeeds that began before it opened', async () => {
    const { promise, resolve } = withResolvers<string>()
    const slow = breakers.guard(target, () => promise)
    await failTimes(3)
    resolve('reply')
    expect(await slow).to.equal('reply')
    expect(isUsable()).to.equal(false)
  })

  it('does not count rate limits as failures', async () => {
    for (let time = 0; time < 10; time++) await fail('provider_rate_limited')
    expect(await succeed()).to.equal('reply')
  })

  it('excludes the model from routing until its retry-after, but lets direct calls through', async () => {
    await fail('provider_rate_limited', { retryAfter: 7 })
    expect(isUsable()).to.equal(false)
    expect(await succeed()).to.equal('reply')
    clock.pass(6999)
    expect(isUsable()).to.equal(false)
    clock.pass(1)
    expect(isUsable()).to.equal(true)
  })

  it('extends the cooldown to the retry-after of the provider', async () => {
    await failTimes(2)
    await fail('provider_error', { retryAfter: 7 })
    clock.pass(6999)
    expect(isUsable()).to.equal(false)
    expect(states()).to.deep.equal(['open'])
    clock.pass(1)
    expect(isUsable()).to.equal(true)
  })

  it('limits a retry-after to one minute', async () => {
    await fail('provider_rate_limited', { retryAfter: 86_400 })
    clock.pass(60_000)
    expect(isUsable()).to.equal(true)
  })

  it('excludes the model for one minute when the quota is used up', async () => {
    await fail('provider_quota_exceeded')
    clock.pass(59_999)
    expect(isUsable()).to.equal(false)
    clock.pass(1)
    expect(isUsable()).to.equal(true)
  })

  it("counts the rejection of the gateway's credentials as a failure", async () => {
    for (let time = 0; time < 3; time++) await fail('provider_authentication_error')
    expect(isUsable()).to.equal(false)
  })

  for (const [what, error] of [
    ['a disconnected client', new DOMException('The client disconnected.', 'AbortError')],
    ['a rejected request', new GatewayError('provider_refused', 'No.')],
    ['an unknown model', new GatewayError('model_not_found', 'No.')],
    ['a bug of the gateway', new TypeError('x is undefined')],
  ] as const) {
    it(`does not count ${what} as a failure, and rethrows the error`, async () => {
      for (let time = 0; time < 10; time++) expect(await failWith(error)).to.equal(error)
      expect(isUsable()).to.equal(true)
    })
  }
})

function withResolvers<Value>() {
  let resolve: (value: Value) => void = () => {}
  let reject: (reason: unknown) => void = () => {}
  const promise = new Promise<Value>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}
