import { EventEmitter } from 'node:events'
import { UnavailableError } from '@eventstore/db-client'
import { expect } from 'chai'
import { type EventLog, EventLogUnavailableError } from '../../../../../core/contract/event-log.ts'
import type { AppendResponse } from '../../../../../core/event-log/eventstore/append-messages.ts'
import type { ClientInternals } from '../../../../../core/event-log/eventstore/client-internals.ts'
import { openEventStoreLog } from '../../../../../core/event-log/eventstore/eventstore-log.ts'
import { createSharedAppends } from '../../../../../core/event-log/eventstore/shared-appends.ts'
import { FOLLOWED_STREAMS } from '../../../../../projections/events/streams.ts'
import { collect, metadata, numbered, rejection } from '../../../../support/event-log-suite.ts'
import { type EventStore, startEventStore } from '../../../../support/eventstore/server.ts'
import { waitUntil } from '../../../../support/wait.ts'

describe('the EventStoreDB log, when appends share calls', () => {
  let server: EventStore
  let log: EventLog

  beforeEach(async () => {
    server = await startEventStore()
    log = await openEventStoreLog({
      connectionString: server.connectionString,
      followedStreams: FOLLOWED_STREAMS,
    })
  })

  afterEach(async () => {
    await log.close()
    await server.stop()
  })

  const append = (stream: string, expectedRevision: number | 'any' = 'any') =>
    log.append(stream, [numbered(0)], { expectedRevision, metadata })

  it('sends concurrent appends over one call', async () => {
    const appended = await Promise.all(Array.from({ length: 100 }, (_, n) => append(`user-${n}`, -1)))

    expect(server.appendCalls()).to.equal(1)
    expect(new Set(appended.map(({ position }) => position))).to.have.property('size', 100)
  })

  it('opens another call after a while, which disturbs neither appends nor subscriptions', async () => {
    const subscription = log.subscribe(0, new AbortController().signal)[Symbol.asyncIterator]()
    let written = 0
    await waitUntil(async () => {
      await Promise.all([append('user-1'), append('user-2')])
      written += 2
      return server.appendCalls() === 3
    })

    const received: unknown[] = []
    while (received.length < written) {
      const { value } = await subscription.next()
      if (value !== 'caught-up') received.push(value)
    }
    expect(await collect(log.read('user-1'))).to.have.length(written / 2)
  })

  it('rejects those that the server refuses, and no other', async () => {
    server.store.tombstone('user-9', 'any')
    const [first, wrong, deleted, last] = await Promise.all([
      append('user-1', -1),
      rejection(append('user-1', 5)),
      rejection(append('user-9', -1)),
      append('user-1', 0),
    ])

    expect(wrong).to.include({ name: 'WrongExpectedRevisionError', expected: 5, actual: 0 })
    expect(deleted).to.include({ name: 'StreamDamagedError', stream: 'user-9' })
    expect([first.revision, last.revision]).to.deep.equal([0, 1])
    expect(server.appendCalls()).to.equal(1)
  })

  it('sends all again, with the same ids, if the call breaks before they are answered', async () => {
    server.loseResponses(1)
    const appended = await Promise.all(Array.from({ length: 20 }, (_, n) => append(`user-${n}`, -1)))

    expect(appended.map(({ revision }) => revision)).to.deep.equal(Array.from({ length: 20 }, () => 0))
    expect(server.store.readAll(0, 'forwards', 100)).to.have.length(20)
    expect(server.appendCalls()).to.equal(2)
  })

  it('leaves a server that is not ready, and goes on when it is', async () => {
    await append('user-1', -1)
    server.refuse('not-ready', {}, ['append'])
    const error = await rejection(append('user-1', 0))
    server.accept()

    expect(error).to.be.instanceOf(EventLogUnavailableError).and.include({ transient: true })
    expect(error).to.have.property('message').that.includes('Server Is Not Ready')
    expect(await append('user-1', 0)).to.include({ revision: 1 })
  })

  it('reports that access is denied', async () => {
    server.refuse('access-denied', {}, ['append'])

    const error = await rejection(append('user-1', -1))

    expect(error).to.be.instanceOf(EventLogUnavailableError).and.include({ accessDenied: true })
  })
})

/** A call in which the server answers every append with an error. */
class RefusingCall extends EventEmitter {
  isCanceled = false
  readonly #error: Error | undefined

  constructor(error: Error | undefined) {
    super()
    this.#error = error
  }

  write({ id }: { readonly id: string }): void {
    const response: AppendResponse = { id, answer: undefined, error: this.#error }
    setImmediate(() => this.emit('data', response))
  }

  cancel(): void {
    this.isCanceled = true
  }
}

describe('createSharedAppends', () => {
  function connect(call: RefusingCall) {
    const internals = {
      getGRPCClient: async () => ({ makeBidiStreamRequest: () => call }),
      callArguments: () => [],
      handleError: async () => undefined,
    }
    return createSharedAppends(internals as unknown as ClientInternals, 1000)
  }

  it('ends the call to a server that is busy, whose connection would stay open with it', async () => {
    const call = new RefusingCall(new UnavailableError(undefined, 'Server Is Busy'))

    expect(await rejection(connect(call).append('user-1', [], -1))).to.be.instanceOf(UnavailableError)
    await new Promise(setImmediate)
    expect(call.isCanceled).to.equal(true)
  })

  it('rejects with an error if the server answers neither with a result nor with an error', async () => {
    const call = new RefusingCall(undefined)

    expect(await rejection(connect(call).append('user-1', [], -1))).to.include({ type: 'unknown' })
  })
})
