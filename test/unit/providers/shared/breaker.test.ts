import { expect } from 'chai'
import { type ErrorCode, type ErrorDetails, GatewayError } from '../../../../core/contract/index.ts'
import { type CircuitBreakers, createCircuitBreakers } from '../../../../providers/shared/breaker.ts'
import { type StoppedClock, stopClock } from '../../../support/clock.ts'
import { model } from '../../../support/models.ts'

const loco = model('loco', 'acme')
const target = { provider: 'acme', model: 'loco', entry: loco }

describe('the health of a model', () => {
  let clock: StoppedClock
  let health: CircuitBreakers

  beforeEach(() => {
    clock = stopClock()
    health = createCircuitBreakers({ failures: 3, open_ms: 1000 })
  })
  afterEach(() => clock.restore())

  const isUsable = () => health.isUsable(loco)
  const succeed = () => health.guard(target, async () => 'answer')
  const failWith = (error: unknown) =>
    health.guard(target, () => Promise.reject(error)).catch((thrown) => thrown)
  const fail = (code: ErrorCode = 'provider_error', details: ErrorDetails = {}) =>
    failWith(new GatewayError(code, 'It failed.', details))
  const failOften = async (times: number) => {
    for (let time = 0; time < times; time++) await fail()
  }

  it('given nothing, then it may be called', async () => {
    expect(isUsable()).to.equal(true)
    expect(await succeed()).to.equal('answer')
  })

  it('given fewer failures than allowed, then it may be called', async () => {
    await failOften(2)
    expect(isUsable()).to.equal(true)
    expect(await succeed()).to.equal('answer')
  })

  it('given as many failures in a row, then it rests: nothing is called and the caller is told for how long', async () => {
    await failOften(3)
    expect(isUsable()).to.equal(false)
    const error = await health.guard(target, () => expect.fail('called')).catch((thrown) => thrown)
    expect(error).to.be.instanceOf(GatewayError).and.include({ code: 'model_unavailable', mayFailOver: true })
    expect(error).to.have.deep.property('details', { retryAfter: 1 })
  })

  it('given a success in between, then the failures before it do not count', async () => {
    await failOften(2)
    await succeed()
    await failOften(2)
    expect(isUsable()).to.equal(true)
  })

  it('given a model that rests, then others of its provider may be called', async () => {
    await failOften(3)
    expect(health.isUsable(model('tender', 'acme'))).to.equal(true)
    expect(health.isUsable(model('loco', 'other'))).to.equal(true)
  })

  it('given the rest is over, then one request is let through and others are not until it has ended', async () => {
    await failOften(3)
    clock.pass(1000)
    expect(isUsable()).to.equal(true)
    const { promise, resolve } = withResolvers<string>()
    const test = health.guard(target, () => promise)
    expect(isUsable()).to.equal(false)
    expect(await succeed().catch((error) => error.code)).to.equal('model_unavailable')
    resolve('answer')
    expect(await test).to.equal('answer')
    expect(isUsable()).to.equal(true)
    expect(await succeed()).to.equal('answer')
  })

  it('given the request after the rest fails, then the rest is doubled, and so on up to twelve times the first', async () => {
    await failOften(3)
    for (const rest of [1000, 2000, 4000, 8000, 12_000, 12_000]) {
      clock.pass(rest - 1)
      expect(isUsable(), `before ${rest}`).to.equal(false)
      clock.pass(1)
      expect(isUsable(), `after ${rest}`).to.equal(true)
      await fail()
    }
  })

  it('given it recovered, then the next rest is a first one', async () => {
    await failOften(3)
    clock.pass(1000)
    await fail()
    clock.pass(2000)
    await succeed()
    await failOften(3)
    clock.pass(1000)
    expect(isUsable()).to.equal(true)
  })

  it('given it is told to slow down, however often, then that is no failure', async () => {
    for (let time = 0; time < 10; time++) await fail('provider_rate_limited')
    expect(await succeed()).to.equal('answer')
  })

  it('given a retry-after, then it is not chosen until then, though who pins it may call it', async () => {
    await fail('provider_rate_limited', { retryAfter: 7 })
    expect(isUsable()).to.equal(false)
    expect(await succeed()).to.equal('answer')
    clock.pass(6999)
    expect(isUsable()).to.equal(false)
    clock.pass(1)
    expect(isUsable()).to.equal(true)
  })

  it('given a retry-after of a day, then it rests for a minute', async () => {
    await fail('provider_rate_limited', { retryAfter: 86_400 })
    clock.pass(60_000)
    expect(isUsable()).to.equal(true)
  })

  it('given the account has no budget left, then it is not chosen for a minute', async () => {
    await fail('provider_quota_exceeded')
    clock.pass(59_999)
    expect(isUsable()).to.equal(false)
    clock.pass(1)
    expect(isUsable()).to.equal(true)
  })

  it('given our credentials are refused time and again, then it rests', async () => {
    for (let time = 0; time < 3; time++) await fail('provider_authentication_error')
    expect(isUsable()).to.equal(false)
  })

  for (const [what, error] of [
    ['clients leave', new DOMException('The client left.', 'AbortError')],
    ['requests are refused', new GatewayError('provider_refused', 'No.')],
    ['the model is unknown', new GatewayError('model_not_found', 'No.')],
    ['our own program fails', new TypeError('x is undefined')],
  ] as const) {
    it(`given ${what}, however often, then that is no failure, and the reason is passed on`, async () => {
      for (let time = 0; time < 10; time++) expect(await failWith(error)).to.equal(error)
      expect(isUsable()).to.equal(true)
    })
  }
})

function withResolvers<Value>() {
  let resolve: (value: Value) => void = () => {}
  const promise = new Promise<Value>((give) => {
    resolve = give
  })
  return { promise, resolve }
}
