import { expect } from 'chai'
import { type ErrorCode, type ErrorDetails, GatewayError } from '../../../../core/contract/index.ts'
import { type CircuitBreakers, createCircuitBreakers } from '../../../../providers/shared/circuit.ts'
import { ConnectError } from '../../../../providers/shared/http.ts'
import { model } from '../../../support/models.ts'

const ONCE = { caller: 1, isRetry: false }

const loco = model('loco', 'acme')
/** Cooldowns outlast the window, unless a test says otherwise. */
const SETTINGS = { min_requests: 3, failure_ratio: 0.5, min_callers: 3, window_ms: 60_000, open_ms: 1000 }

const target = { provider: 'acme', model: 'loco', entry: loco }

describe('circuit breakers', () => {
  let now: number
  let breakers: CircuitBreakers

  beforeEach(() => {
    now = 0
    breakers = createCircuitBreakers(SETTINGS, () => now)
  })

  const pass = (ms: number) => {
    now += ms
  }
  const isUsable = (caller = 1) => breakers.isUsable(loco, caller)
  const states = () => [...breakers.circuits()].map(({ state }) => state)
  const callerStates = () => [...breakers.callerCircuits()].map(({ state }) => state)
  const guard = <Value>(call: () => Promise<Value>, caller = 1, isRetry = false) =>
    breakers.guard(target, { caller, isRetry }, call)
  const succeed = (caller = 1) => guard(async () => 'reply', caller)
  const failWith = (error: unknown, caller = 1) =>
    guard(() => Promise.reject(error), caller).catch((thrown) => thrown)
  const fail = (code: ErrorCode = 'provider_error', details: ErrorDetails = {}, caller = 1) =>
    failWith(new GatewayError(code, 'It failed.', details), caller)
  const failTimes = async (times: number) => {
    for (let time = 0; time < times; time++) await fail()
  }

  it('lets calls through at first', async () => {
    expect(isUsable()).to.equal(true)
    expect(await succeed()).to.equal('reply')
    expect(states()).to.deep.equal(['closed'])
  })

  it('rest one deployment alone, and exclude the model when all of them rest', async () => {
    breakers = createCircuitBreakers(
      SETTINGS,
      () => now,
      () => 2,
    )
    const limit = (deployment: string, details: ErrorDetails) =>
      breakers
        .guard({ ...target, deployment }, ONCE, () => {
          throw new GatewayError('provider_rate_limited', 'Slow down.', details)
        })
        .catch(() => undefined)
    const restOf = (deployment: string) => breakers.rest({ ...target, deployment }, 2).rateLimitMs
    await limit('east', { retryAfter: 7 })
    expect([restOf('east'), restOf('west'), isUsable()]).to.deep.equal([7000, 0, true])
    await limit('west', {})
    expect([restOf('west'), isUsable()]).to.deep.equal([SETTINGS.open_ms, false])
    pass(SETTINGS.open_ms)
    expect(isUsable()).to.equal(true)
  })

  it('lets calls through after fewer failures than the limit', async () => {
    await failTimes(2)
    expect(isUsable()).to.equal(true)
    expect(await succeed()).to.equal('reply')
  })

  it('opens for the caller whose requests fail, and rejects calls with a retry-after', async () => {
    await failTimes(3)
    expect(isUsable()).to.equal(false)
    expect(callerStates()).to.deep.equal(['open'])
    const error = await guard(() => expect.fail('called')).catch((thrown) => thrown)
    expect(error).to.be.instanceOf(GatewayError).and.include({
      code: 'model_unavailable',
      message: 'acme/loco is temporarily unavailable (circuit open).',
      mayFailOver: true,
    })
    expect(error).to.have.deep.property('details', { retryAfter: 1 })
    expect(states()).to.deep.equal(['closed'])
    expect(await succeed(2)).to.equal('reply')
  })

  it('opens when at least half of the requests in the window fail', async () => {
    await fail()
    for (let time = 0; time < 5; time++) await succeed()
    await failTimes(3)
    expect(isUsable()).to.equal(true)
    await fail()
    expect(isUsable()).to.equal(false)
  })

  it('does not count requests before the window', async () => {
    await failTimes(2)
    pass(SETTINGS.window_ms)
    await failTimes(2)
    expect(isUsable()).to.equal(true)
    await fail()
    expect(isUsable()).to.equal(false)
  })

  it('counts a request once that is sent again, and sends it even though its failure opened the circuit', async () => {
    const rejected = () => Promise.reject(new GatewayError('provider_error', 'It failed.'))
    for (let request = 0; request < 2; request++) {
      await fail()
      await guard(rejected, 1, true).catch(() => undefined)
    }
    expect(isUsable()).to.equal(true)
    await fail()
    expect(isUsable()).to.equal(false)
    expect(await guard(async () => 'reply', 1, true)).to.equal('reply')
    expect(isUsable()).to.equal(true)
  })

  it('opens for everybody when enough callers fail', async () => {
    await fail('provider_error', {}, 1)
    await fail('provider_error', {}, 2)
    expect(states()).to.deep.equal(['closed'])
    await fail('provider_error', {}, 3)
    expect(states()).to.deep.equal(['open'])
    expect(isUsable(4)).to.equal(false)
    pass(1000)
    await succeed(4)
    for (const caller of [1, 2, 3, 4]) expect(isUsable(caller), `caller ${caller}`).to.equal(true)
  })

  it('stays closed for everybody while most requests of the others succeed', async () => {
    for (let time = 0; time < 6; time++) await succeed(9)
    for (let time = 0; time < 50; time++) await fail('provider_error', {}, 1)
    for (const caller of [2, 3]) await fail('provider_error', {}, caller)
    expect(states()).to.deep.equal(['closed'])
    expect(callerStates()).to.deep.equal(['open'])
  })

  it('opens for everybody at once when no connection can be made', async () => {
    const cause = new ConnectError(new Error('connect ECONNREFUSED'), 'ECONNREFUSED')
    await fail('provider_unreachable', { cause })
    expect(states()).to.deep.equal(['open'])
    expect(isUsable(2)).to.equal(false)
    await fail('provider_unreachable')
    expect(callerStates()).to.deep.equal([])
  })

  it('does not let one caller whose requests always fail hold off the probes of others', async () => {
    for (const caller of [1, 2, 3]) await fail('provider_error', {}, caller)
    pass(1000)
    for (const cooldown of [2000, 4000, 8000]) {
      await fail('provider_error', {}, 1)
      pass(2000)
      expect(isUsable(4)).to.equal(true)
      pass(cooldown - 2000)
      expect(isUsable(1), `after ${cooldown}`).to.equal(true)
    }
    await fail('provider_error', {}, 4)
    pass(3999)
    expect(isUsable(5)).to.equal(false)
    pass(1)
    expect(isUsable(5)).to.equal(true)
  })

  it('lets another request probe when a probe takes longer than the first cooldown', async () => {
    await failTimes(3)
    pass(1000)
    const { promise, reject } = withResolvers<never>()
    const hanging = guard(() => promise).catch(() => undefined)
    pass(999)
    expect(isUsable()).to.equal(false)
    pass(1)
    expect(await succeed()).to.equal('reply')
    reject(new GatewayError('provider_timeout', 'It failed.'))
    await hanging
    expect(isUsable()).to.equal(true)
  })

  it('lets the next request probe when the client of a probe disconnects', async () => {
    await failTimes(3)
    pass(1000)
    await failWith(new DOMException('The client disconnected.', 'AbortError'))
    expect(callerStates()).to.deep.equal(['half_open'])
    expect(isUsable()).to.equal(true)
  })

  it('forgets the callers that failed first when there are too many', async () => {
    // One success keeps the circuit closed for everybody.
    breakers = createCircuitBreakers({ ...SETTINGS, failure_ratio: 1 }, () => now)
    await succeed(20_000)
    await failTimes(3)
    for (let caller = 2; caller <= 10_000; caller++) await fail('provider_error', {}, caller)
    expect(isUsable(1)).to.equal(false)
    await fail('provider_error', {}, 10_001)
    expect(isUsable(1)).to.equal(true)
  })

  it('does not affect other models of the provider, nor the same model of another', async () => {
    await failTimes(3)
    expect(breakers.isUsable(model('tender', 'acme'), 1)).to.equal(true)
    expect(breakers.isUsable(model('loco', 'other'), 1)).to.equal(true)
  })

  it('counts failures of a model that is not in the catalogue', async () => {
    const unlisted = { provider: 'acme', model: 'tender' }
    const error = new GatewayError('provider_error', 'It failed.')
    for (let time = 0; time < 3; time++)
      await breakers.guard(unlisted, ONCE, () => Promise.reject(error)).catch(() => undefined)
    const thrown = await breakers.guard(unlisted, ONCE, () => expect.fail('called')).catch((thrown) => thrown)
    expect(thrown).to.have.property('code', 'model_unavailable')
  })

  it('lets one probe through after the cooldown, and rejects other calls until it has ended', async () => {
    await failTimes(3)
    pass(1000)
    expect(isUsable()).to.equal(true)
    expect(callerStates()).to.deep.equal(['half_open'])
    const { promise, resolve } = withResolvers<string>()
    const probe = guard(() => promise)
    expect(isUsable()).to.equal(false)
    expect(callerStates()).to.deep.equal(['half_open'])
    expect(await succeed().catch((error) => error.code)).to.equal('model_unavailable')
    resolve('reply')
    expect(await probe).to.equal('reply')
    expect(isUsable()).to.equal(true)
    expect(callerStates()).to.deep.equal([])
    expect(await succeed()).to.equal('reply')
  })

  it('doubles the cooldown with each failed probe, up to twelve times the first cooldown', async () => {
    await failTimes(3)
    for (const cooldown of [1000, 2000, 4000, 8000, 12_000, 12_000]) {
      pass(cooldown - 1)
      expect(isUsable(), `before ${cooldown}`).to.equal(false)
      pass(1)
      expect(isUsable(), `after ${cooldown}`).to.equal(true)
      await fail()
    }
  })

  it('starts with the first cooldown again after it was closed', async () => {
    await failTimes(3)
    pass(1000)
    await fail()
    pass(2000)
    await succeed()
    await failTimes(3)
    pass(1000)
    expect(isUsable()).to.equal(true)
  })

  it('closes if the probe gets a client error, but opens again with the next failure', async () => {
    await failTimes(3)
    pass(1000)
    await fail('provider_refused')
    expect(callerStates()).to.deep.equal([])
    expect(isUsable()).to.equal(true)
    await fail()
    expect(callerStates()).to.deep.equal(['open'])
    pass(1000)
    expect(isUsable()).to.equal(true)
  })

  it('stays open when a call succeeds that began before it opened', async () => {
    const { promise, resolve } = withResolvers<string>()
    const slow = guard(() => promise)
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
    pass(6999)
    expect(isUsable()).to.equal(false)
    pass(1)
    expect(isUsable()).to.equal(true)
  })

  it('extends the cooldown to the retry-after of the provider', async () => {
    await failTimes(2)
    await fail('provider_error', { retryAfter: 7 })
    pass(6999)
    expect(isUsable()).to.equal(false)
    pass(1)
    expect(isUsable()).to.equal(true)
  })

  it('limits a retry-after to one minute', async () => {
    await fail('provider_rate_limited', { retryAfter: 86_400 })
    pass(60_000)
    expect(isUsable()).to.equal(true)
  })

  it('excludes the model for one minute when the quota is used up', async () => {
    await fail('provider_quota_exceeded')
    pass(59_999)
    expect(isUsable()).to.equal(false)
    pass(1)
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
