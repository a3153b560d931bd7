import { expect } from 'chai'
import { untilAborted, withinLimit, withTimeout } from '../../../../core/threads/timeout.ts'

const never = new Promise<never>(() => undefined)

const rejectionOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail('the promise resolved'),
    (error: unknown) => error,
  )

describe('withTimeout', () => {
  const createError = () => new Error('timed out')

  it('resolves or rejects like the promise', async () => {
    const error = new Error('failed')
    expect(await withTimeout(Promise.resolve(1), 1000, createError)).to.equal(1)
    expect(await rejectionOf(withTimeout(Promise.reject(error), 1000, createError))).to.equal(error)
  })

  it('rejects with the created error when the time is over', async () => {
    expect(await rejectionOf(withTimeout(never, 5, createError)))
      .to.be.an('error')
      .with.property('message', 'timed out')
  })

  it('ignores a later rejection of the promise', async () => {
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error('late')), 20))
    await rejectionOf(withTimeout(late, 5, createError))
    await new Promise((resolve) => setTimeout(resolve, 30))
  })
})

describe('withinLimit', () => {
  it('aborts the signal of a task that takes longer', async () => {
    const task = (limit: AbortSignal) =>
      new Promise<never>((_, reject) => {
        limit.addEventListener('abort', () => reject(limit.reason))
      })
    expect(await rejectionOf(withinLimit(5, task))).to.have.property('name', 'TimeoutError')
  })

  it('does not count the time while the event loop was blocked', async () => {
    const received = withinLimit(40, async (limit) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
      await new Promise((resolve) => setTimeout(resolve, 1))
      limit.throwIfAborted()
      return 'answer'
    })
    expect(await received).to.equal('answer')
  })
})

describe('untilAborted', () => {
  const reason = new Error('stopping')

  it('resolves or rejects like the promise', async () => {
    const { signal } = new AbortController()
    const error = new Error('failed')
    expect(await untilAborted(Promise.resolve(1), signal)).to.equal(1)
    expect(await untilAborted(Promise.resolve(1))).to.equal(1)
    expect(await rejectionOf(untilAborted(Promise.reject(error), signal))).to.equal(error)
  })

  it("rejects with the signal's reason when the signal aborts", async () => {
    const controller = new AbortController()
    const rejection = rejectionOf(untilAborted(never, controller.signal))
    controller.abort(reason)
    expect(await rejection).to.equal(reason)
  })

  it("rejects with the signal's reason if the signal has aborted, and ignores the promise", async () => {
    const signal = AbortSignal.abort(reason)
    expect(await rejectionOf(untilAborted(Promise.resolve(1), signal))).to.equal(reason)
    expect(await rejectionOf(untilAborted(Promise.reject(new Error('ignored')), signal))).to.equal(reason)
  })

  it('leaves no listener on the signal', async () => {
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...parameters: Parameters<typeof add>) => {
      listeners++
      add(...parameters)
    }
    signal.removeEventListener = (...parameters: Parameters<typeof remove>) => {
      listeners--
      remove(...parameters)
    }
    await untilAborted(Promise.resolve(1), signal)
    expect(listeners).to.equal(0)
  })
})
