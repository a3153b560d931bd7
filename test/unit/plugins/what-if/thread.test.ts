import { EventEmitter } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import type { WhatIfJob } from '../../../../plugins/what-if/job.ts'
import { createWhatIfThread, WhatIfBusyError } from '../../../../plugins/what-if/thread.ts'

const JOB: WhatIfJob = {
  filter: {},
  limit: 1,
  examples: 0,
  policies: [],
  budgets: { overall: undefined, groups: [] },
  events: [],
  drafts: [],
  toolServers: {},
}

interface Sent {
  readonly id: number
  readonly method: string
}

/** Stands in for the thread, and answers when the test says so. */
class FakeWorker extends EventEmitter {
  readonly sent: Sent[] = []
  isTerminated = false

  postMessage({ signalbox }: { signalbox: readonly Sent[] }): void {
    this.sent.push(...signalbox)
    this.emit('sent')
  }

  async next(method: string): Promise<Sent> {
    for (;;) {
      const found = this.sent.find((message) => message.method === method)
      if (found !== undefined) {
        this.sent.splice(this.sent.indexOf(found), 1)
        return found
      }
      await new Promise((resolve) => this.once('sent', resolve))
    }
  }

  answer({ id }: Sent, result: unknown): void {
    this.emit('message', { signalbox: [{ replyTo: id, result }] })
  }

  unref(): void {}

  async terminate(): Promise<void> {
    this.isTerminated = true
    this.emit('exit')
  }
}

describe('the thread that evaluates drafts', () => {
  const workers: FakeWorker[] = []
  const start = () => {
    const worker = new FakeWorker()
    workers.push(worker)
    return worker as unknown as Worker
  }
  const handlers = {
    callers: () => ({ callers: [] }),
    replies: () => ({ replies: [] }),
    progress: () => ({}),
  }
  beforeEach(() => void workers.splice(0))

  it('evaluates one job after the other, and refuses more than may wait', async () => {
    const thread = createWhatIfThread(start)
    const { signal } = new AbortController()
    const run = () => thread.run({ job: JOB, handlers, signal })
    const runs = Array.from({ length: 5 }, run)
    expect(await run().catch((error: unknown) => error)).to.be.instanceOf(WhatIfBusyError)
    for (const [index, promise] of runs.entries()) {
      await new Promise(setImmediate)
      const worker = workers[0]!
      const job = await worker.next('run')
      expect(worker.sent).to.deep.equal([])
      worker.answer(job, index)
      expect(await promise).to.equal(index)
    }
    expect(workers).to.have.length(1)
    await thread.close()
    expect(workers[0]?.isTerminated).to.equal(true)
  })

  it('tells the thread that a client has left, and goes on with the next job', async () => {
    const thread = createWhatIfThread(start)
    const leave = new AbortController()
    const left = thread.run({ job: JOB, handlers, signal: leave.signal }).catch((error: unknown) => error)
    const next = thread.run({ job: JOB, handlers, signal: new AbortController().signal })
    await new Promise(setImmediate)
    const [worker] = workers
    const job = await worker!.next('run')
    leave.abort(new Error('left'))
    worker!.answer(await worker!.next('cancel'), {})
    worker!.answer(job, {})
    expect(await left).to.have.property('message', 'left')
    worker!.answer(await worker!.next('run'), 'second')
    expect(await next).to.equal('second')
    await thread.close()
  })

  it('starts a new thread after one that has ended', async () => {
    const thread = createWhatIfThread(start)
    const { signal } = new AbortController()
    const failed = thread.run({ job: JOB, handlers, signal }).catch((error: unknown) => error)
    await new Promise(setImmediate)
    await workers[0]!.next('run')
    workers[0]!.emit('error', new Error('out of memory'))
    expect(await failed).to.be.instanceOf(Error)
    const again = thread.run({ job: JOB, handlers, signal })
    await new Promise(setImmediate)
    workers[1]!.answer(await workers[1]!.next('run'), 'again')
    expect(await again).to.equal('again')
    await thread.close()
  })
  it('starts no thread for jobs that wait when it is closed', async () => {
    const thread = createWhatIfThread(start)
    const { signal } = new AbortController()
    const run = () => thread.run({ job: JOB, handlers, signal }).catch((error: unknown) => error)
    const jobs = [run(), run()]
    await new Promise(setImmediate)
    await thread.close()
    for (const error of await Promise.all(jobs)) expect(error).to.have.property('name', 'ChannelClosedError')
    expect(workers).to.have.length(1)
  })
})
