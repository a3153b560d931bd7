import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { createShortLived, type Expiring, type ShortLived } from '../../../../providers/auth/short-lived.ts'
import { type StoppedTimers, stopTimers } from '../../../support/timers.ts'

const HOUR_MS = 3_600_000

/** Fetches that a test answers one by one. */
function createSource() {
  const waiting: {
    resolve(next: Expiring<string>): void
    reject(error: Error): void
    signal: AbortSignal
  }[] = []
  let count = 0
  let refused = 0
  return {
    count: () => count,
    refused: () => refused,
    fetch: (signal: AbortSignal, isRefused: boolean) =>
      new Promise<Expiring<string>>((resolve, reject) => {
        count += 1
        if (isRefused) refused += 1
        waiting.push({ resolve, reject, signal })
      }),
    async answer(value: string, expiresAt?: number, refreshAt?: number) {
      waiting.shift()?.resolve({ value, expiresAt, refreshAt })
      await setImmediate()
    },
    async fail(message: string) {
      waiting.shift()?.reject(new Error(message))
      await setImmediate()
    },
    signal: () => waiting[0]?.signal,
  }
}

describe('a short-lived credential', () => {
  let source: ReturnType<typeof createSource>
  let credential: ShortLived<string>
  let timers: StoppedTimers | undefined

  beforeEach(() => {
    source = createSource()
    credential = createShortLived(source.fetch)
  })
  afterEach(() => {
    credential.close()
    timers?.restore()
    timers = undefined
  })

  it('is fetched once for all requests, which then get it without a promise', async () => {
    const requests = Array.from({ length: 50 }, () => credential.get())
    await source.answer('first', Date.now() + HOUR_MS)
    expect(new Set(await Promise.all(requests))).to.deep.equal(new Set(['first']))
    expect(source.count()).to.equal(1)
    expect(credential.get()).to.equal('first')
  })

  it('is fetched in the background from the start', async () => {
    credential.start()
    await source.answer('first', Date.now() + HOUR_MS)
    expect(credential.get()).to.equal('first')
    expect(source.count()).to.equal(1)
  })

  it('is fetched again ahead of its end, while requests get the one before', async () => {
    timers = stopTimers(30_000)
    credential.start()
    // A refresh that lies in the past is due after 30 seconds.
    await source.answer('first', Date.now() + HOUR_MS, 0)
    timers.pass(30_000)
    expect(source.count()).to.equal(2)
    expect(credential.get()).to.equal('first')
    await source.answer('second', Date.now() + HOUR_MS)
    expect(credential.get()).to.equal('second')
  })

  it('is fetched for the next request once it has expired', async () => {
    credential.start()
    await source.answer('old', Date.now() - 1)
    const next = credential.get()
    await source.answer('new', Date.now() + HOUR_MS)
    expect(await next).to.equal('new')
  })

  it('fails for all who wait, and is fetched again after a second', async () => {
    timers = stopTimers(1000)
    const requests = [credential.get(), credential.get()]
    const failed = Promise.allSettled(requests)
    await source.fail('no token')
    expect((await failed).map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
    const error = await Promise.resolve(credential.get()).catch((error: Error) => error.message)
    expect([error, source.count()]).to.deep.equal(['no token', 1])
    timers.pass(1000)
    expect(source.count()).to.equal(2)
    await source.answer('second', Date.now() + HOUR_MS)
    expect(credential.get()).to.equal('second')
  })

  it('keeps its value when fetching ahead fails', async () => {
    credential.start()
    await source.answer('first', Date.now() + HOUR_MS)
    credential.renew()
    await source.fail('no token')
    expect(credential.get()).to.equal('first')
  })

  it('is fetched after a fetch that began before a change', async () => {
    const first = credential.get()
    credential.renew()
    await source.answer('before', Date.now() + HOUR_MS)
    expect(await first).to.equal('before')
    expect(source.count()).to.equal(2)
    await source.answer('after', Date.now() + HOUR_MS)
    expect(credential.get()).to.equal('after')
  })

  it('goes on being fetched when a request that waits is aborted', async () => {
    const controller = new AbortController()
    const waiting = Promise.resolve(credential.get(controller.signal)).catch((reason: unknown) => reason)
    controller.abort('left')
    expect(await waiting).to.equal('left')
    expect(source.signal()?.aborted).to.equal(false)
    await source.answer('first', Date.now() + HOUR_MS)
    expect(credential.get()).to.equal('first')
  })

  it('is fetched once for all who were refused, while others get the refused one', async () => {
    credential.start()
    await source.answer('revoked', Date.now() + HOUR_MS)
    const { version } = credential
    const renewals = Array.from({ length: 20 }, () =>
      credential.renewRefused(version, new AbortController().signal),
    )
    expect([credential.get(), source.count(), source.refused()]).to.deep.equal(['revoked', 2, 1])
    await source.answer('new', Date.now() + HOUR_MS)
    expect(new Set(await Promise.all(renewals))).to.deep.equal(new Set([true]))
    expect(credential.get()).to.equal('new')
    // A request that was sent with the one before, and is refused late.
    expect(await credential.renewRefused(version, new AbortController().signal)).to.equal(true)
    expect(source.count()).to.equal(2)
  })

  it('is not fetched again and again for a service that refuses all of them', async () => {
    credential.start()
    await source.answer('first', Date.now() + HOUR_MS)
    const { signal } = new AbortController()
    const renewal = credential.renewRefused(credential.version, signal)
    await source.answer('second', Date.now() + HOUR_MS)
    expect(await renewal).to.equal(true)
    expect(await credential.renewRefused(credential.version, signal)).to.equal(false)
    expect(source.count()).to.equal(2)
  })

  it('is not tried again if it is the same or cannot be fetched, nor for a request that has ended', async () => {
    credential.start()
    await source.answer('first', Date.now() + HOUR_MS)
    const { version } = credential
    const controller = new AbortController()
    const renewals = [1, 2].map(() => credential.renewRefused(version, new AbortController().signal))
    const ended = credential.renewRefused(version, controller.signal).catch((reason: unknown) => reason)
    controller.abort('left')
    expect(await ended).to.equal('left')
    await source.answer('first', Date.now() + HOUR_MS)
    expect(await Promise.all(renewals)).to.deep.equal([false, false])
    expect(credential.version).to.equal(version)
    credential.close()
    credential = createShortLived(source.fetch)
    credential.start()
    await source.answer('other', Date.now() + HOUR_MS)
    const failing = credential.renewRefused(credential.version, controller.signal).catch(() => 'left')
    await source.fail('no token')
    expect([await failing, credential.get()]).to.deep.equal(['left', 'other'])
  })

  it('stops being fetched with close', async () => {
    const waiting = Promise.resolve(credential.get()).catch((error: Error) => error.name)
    const signal = source.signal()
    credential.close()
    expect([await waiting, signal?.aborted]).to.deep.equal(['AbortError', true])
  })
})
