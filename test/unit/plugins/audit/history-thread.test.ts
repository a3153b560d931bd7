import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import type { GatewayError } from '../../../../core/contract/index.ts'
import type { HistoryCall } from '../../../../plugins/audit/history-methods.ts'
import { createHistoryThread } from '../../../../plugins/audit/history-thread.ts'

/** A thread that answers each call with what the JavaScript expression `answer` gives. */
const workerOf = (answer: string, maxHeapMb?: number) => () =>
  new Worker(
    `const { parentPort } = require('node:worker_threads')
    parentPort.on('message', async ({ signalbox: [{ id, method, params }] }) => {
      parentPort.postMessage({ signalbox: [{ replyTo: id, result: await (${answer}) }] })
    })`,
    { eval: true, ...(maxHeapMb && { resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } }) },
  )

const callOf = (userId: number): HistoryCall => {
  return { method: 'changes', query: { owner: { userId }, kind: 'routing', ruleId: 2 } }
}
const CALL = callOf(1)
const PRESENT = { position: 9, time: 0, lostRaces: new Map() }
const FOREVER = new AbortController().signal
const rejection = (promise: Promise<unknown>): Promise<GatewayError> =>
  promise.then(
    () => expect.fail('the call succeeded'),
    (error) => error,
  )

describe('the thread that reads histories', () => {
  it('returns bodies', async () => {
    const thread = createHistoryThread(workerOf('({ result: new Uint8Array([params.query.ruleId]) })'))
    expect(await thread.read(CALL, PRESENT, FOREVER)).to.deep.equal(new Uint8Array([2]))
    await thread.close()
  })

  it('passes on errors of a read', async () => {
    const refused = "({ refused: { code: 'invalid_value', message: 'Not yet.', param: 'as_of' } })"
    const refusing = createHistoryThread(workerOf(refused))
    const error = await rejection(refusing.read(CALL, PRESENT, FOREVER))
    expect(error).to.include({ status: 400, message: 'Not yet.' })
    expect(error.details.param).to.equal('as_of')
    const away = createHistoryThread(workerOf("({ unavailable: 'locked' })"))
    expect(await rejection(away.read(CALL, PRESENT, FOREVER))).to.include({ message: 'locked' })
    const broken = createHistoryThread(workerOf("({ failed: 'Event 3 is not valid JSON.' })"))
    const failure = await rejection(broken.read(CALL, PRESENT, FOREVER))
    expect(failure).to.include({ name: 'Error', message: 'Event 3 is not valid JSON.' })
    await Promise.all([refusing.close(), away.close(), broken.close()])
  })

  it('refuses calls when too many wait, and forgets those whose clients disconnect', async () => {
    const thread = createHistoryThread(workerOf('new Promise(() => {})'))
    const clients = Array.from({ length: 64 }, () => new AbortController())
    const first = rejection(thread.read(CALL, PRESENT, FOREVER))
    const others = clients.map(({ signal }, n) => rejection(thread.read(callOf(n), PRESENT, signal)))
    const refused = await rejection(thread.read(callOf(99), PRESENT, FOREVER))
    expect(refused).to.include({ status: 429, code: 'audit_busy' })
    expect(refused.details.retryAfter).to.equal(2)
    for (const client of clients) client.abort(new Error('disconnected'))
    for (const error of await Promise.all(others)) expect(error.message).to.equal('disconnected')
    await thread.close()
    expect(await first).to.include({ status: 503, code: 'history_unavailable' })
  })

  it('keeps places for others when one history is read many times', async () => {
    const thread = createHistoryThread(workerOf('({ result: undefined })'))
    const reads = Array.from({ length: 60 }, () => thread.read(CALL, PRESENT, new AbortController().signal))
    const other = thread.read(callOf(2), PRESENT, FOREVER)
    const outcomes = await Promise.allSettled(reads)
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
    expect(refused).to.have.length(44)
    for (const { reason } of refused) expect(reason).to.include({ status: 429, code: 'audit_busy' })
    expect(await other).to.equal(undefined)
    expect(await thread.read(CALL, PRESENT, FOREVER)).to.equal(undefined)
    await thread.close()
  })

  it('is not started again by calls that wait when it is closed', async () => {
    let started = 0
    const thread = createHistoryThread(() => {
      started += 1
      return workerOf('new Promise(() => {})')()
    }, 200)
    const reads = [1, 2, 3].map((userId) => rejection(thread.read(callOf(userId), PRESENT, FOREVER)))
    await thread.close()
    for (const error of await Promise.all(reads)) expect(error.code).to.equal('history_unavailable')
    expect(started).to.equal(1)
  })

  it('is replaced when it runs out of memory', async () => {
    const eat = `(() => { const list = []; for (;;) list.push(new Array(10_000).fill(list.length)) })()`
    let answer = eat
    const thread = createHistoryThread(() => workerOf(answer, 16)())
    const error = await rejection(thread.read(CALL, PRESENT, FOREVER))
    expect(error).to.include({ status: 503, code: 'history_unavailable' })
    answer = '({ result: undefined })'
    expect(await thread.read(CALL, PRESENT, FOREVER)).to.equal(undefined)
    await thread.close()
  })

  it('is replaced when it does not answer in time', async () => {
    let started = 0
    const thread = createHistoryThread(() => {
      started += 1
      return workerOf('(() => { for (;;); })()')()
    }, 50)
    expect(await rejection(thread.read(CALL, PRESENT, FOREVER))).to.include({ status: 503 })
    expect(await rejection(thread.read(CALL, PRESENT, FOREVER))).to.include({ status: 503 })
    expect(started).to.equal(2)
    await thread.close()
  })
})
