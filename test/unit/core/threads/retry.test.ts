import { expect } from 'chai'
import { pino } from 'pino'
import { EventLogUnavailableError } from '../../../../core/contract/index.ts'
import {
  exponentialBackoff,
  fixedBackoff,
  retry,
  retryWhileUnavailable,
} from '../../../../core/threads/retry.ts'

/** An operation that fails with the given errors, then succeeds with the number of its attempts. */
function failingWith(...errors: readonly Error[]) {
  let attempts = 0
  return async () => {
    const error = errors[attempts++]
    if (error !== undefined) throw error
    return attempts
  }
}

const rejectionOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail('the promise resolved'),
    (error: unknown) => error,
  )

describe('backoffs', () => {
  it('double up to a maximum, and start again after a reset', () => {
    const backoff = exponentialBackoff({ firstMs: 250, maxMs: 900 })
    expect([backoff.nextMs(), backoff.nextMs(), backoff.nextMs(), backoff.nextMs()]).to.deep.equal([
      250, 500, 900, 900,
    ])
    backoff.reset()
    expect(backoff.nextMs()).to.equal(250)
  })

  it('can be a list of delays', () => {
    const backoff = fixedBackoff([10, 20])
    expect([backoff.nextMs(), backoff.nextMs(), backoff.nextMs()]).to.deep.equal([10, 20, undefined])
    backoff.reset()
    expect(backoff.nextMs()).to.equal(10)
  })
})

describe('retry', () => {
  it('returns the result of the first successful attempt, and reports the errors before', async () => {
    const [first, second] = [new Error('first'), new Error('second')]
    const retries: unknown[] = []
    const result = await retry(failingWith(first, second), {
      backoff: exponentialBackoff({ firstMs: 1, maxMs: 10 }),
      onRetry: (error, delayMs) => retries.push([error, delayMs]),
    })
    expect(result).to.equal(3)
    expect(retries).to.deep.equal([
      [first, 1],
      [second, 2],
    ])
  })

  it('rejects with the last error when the backoff ends', async () => {
    const errors = ['1', '2', '3', '4'].map((message) => new Error(message))
    expect(await rejectionOf(retry(failingWith(...errors), { backoff: fixedBackoff([0, 0]) }))).to.equal(
      errors[2],
    )
  })

  it('rejects immediately with errors that must not be retried', async () => {
    const [first, fatal] = [new Error('first'), new TypeError('fatal')]
    const shouldRetry = (error: unknown) => !(error instanceof TypeError)
    const options = { backoff: fixedBackoff([0, 0, 0]), shouldRetry }
    expect(await rejectionOf(retry(failingWith(first, fatal), options))).to.equal(fatal)
  })

  it("rejects with the signal's reason during a delay", async () => {
    const controller = new AbortController()
    const reason = new Error('stopping')
    const rejection = rejectionOf(
      retry(failingWith(new Error('first')), {
        backoff: fixedBackoff([60_000]),
        signal: controller.signal,
        onRetry: () => setImmediate(() => controller.abort(reason)),
      }),
    )
    expect(await rejection).to.equal(reason)
  })

  it('lets an attempt in flight succeed when the signal aborts', async () => {
    const controller = new AbortController()
    const run = async () => {
      controller.abort(new Error('stopping'))
      return 7
    }
    expect(await retry(run, { backoff: fixedBackoff([0]), signal: controller.signal })).to.equal(7)
  })

  it("rejects with the signal's reason after a failed attempt, without another attempt", async () => {
    const controller = new AbortController()
    const reason = new Error('stopping')
    let attempts = 0
    const run = async () => {
      attempts++
      controller.abort(reason)
      throw new Error('first')
    }
    const options = { backoff: fixedBackoff([0]), signal: controller.signal }
    expect(await rejectionOf(retry(run, options))).to.equal(reason)
    expect(attempts).to.equal(1)
  })

  it('does not start if the signal has aborted', async () => {
    const reason = new Error('stopping')
    const run = () => expect.fail('an attempt started')
    const options = { backoff: fixedBackoff([0]), signal: AbortSignal.abort(reason) }
    expect(await rejectionOf(retry(run, options))).to.equal(reason)
  })
})

describe('retryWhileUnavailable', () => {
  const logger = pino({ level: 'silent' })
  const { signal } = new AbortController()

  it('retries transient errors of the event log', async () => {
    const transient = new EventLogUnavailableError('no connection', { transient: true })
    expect(await retryWhileUnavailable(failingWith(transient), logger, signal)).to.equal(2)
  })

  it('rejects with permanent errors of the event log, and with all others', async () => {
    for (const error of [new EventLogUnavailableError('disk full', { diskFull: true }), new Error('bug')]) {
      expect(await rejectionOf(retryWhileUnavailable(failingWith(error), logger, signal))).to.equal(error)
    }
  })

  it("rejects with the signal's reason during an attempt", async () => {
    const controller = new AbortController()
    const reason = new Error('stopping')
    const never = () => new Promise(() => undefined)
    const rejection = rejectionOf(retryWhileUnavailable(never, logger, controller.signal))
    controller.abort(reason)
    expect(await rejection).to.equal(reason)
  })
})
