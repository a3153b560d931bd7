import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { EventLog, RecordedEvent } from '../../../../../core/contract/event-log.ts'
import { openEventStoreLog } from '../../../../../core/event-log/eventstore/eventstore-log.ts'
import { FOLLOWED_STREAMS } from '../../../../../projections/events/streams.ts'
import { metadata, numbered } from '../../../../support/event-log-suite.ts'
import { type EventStore, startEventStore } from '../../../../support/eventstore/server.ts'
import { itInFull } from '../../../../support/rounds.ts'

describe('an EventStoreDB subscription among events of other programs', () => {
  let server: EventStore
  const logs: EventLog[] = []

  beforeEach(async () => {
    server = await startEventStore()
  })

  afterEach(async () => {
    await Promise.all(logs.splice(0).map((log) => log.close()))
    await server.stop()
  })

  async function open(streamPrefix = ''): Promise<EventLog> {
    const log = await openEventStoreLog({
      connectionString: server.connectionString,
      streamPrefix,
      followedStreams: FOLLOWED_STREAMS,
    })
    logs.push(log)
    return log
  }

  const append = (log: EventLog, stream: string, n: number) =>
    log.append(stream, [numbered(n)], { expectedRevision: 'any', metadata })

  function writeForeign(stream: string, count: number, metadata = '{}'): void {
    for (let n = 0; n < count; n++) {
      const event = { id: randomUUID(), type: 'Foreign', contentType: 'application/json' }
      server.store.append(stream, 'any', [
        { ...event, data: Buffer.from('{}'), metadata: Buffer.from(metadata) },
      ])
    }
  }

  it('catches up if there are only foreign events', async () => {
    writeForeign('$stats', 150)

    expect(await take(await open(), 0, 1)).to.deep.equal(['caught-up'])
  })

  it('catches up if the last events are foreign', async () => {
    const log = await open()
    writeForeign('$stats', 5)
    await append(log, 'user-1', 1)
    writeForeign('response-1', 150)
    await append(log, 'rules-1', 2)
    writeForeign('response-2', 250)

    expect(await take(log, 0, 3)).to.deep.equal([1, 2, 'caught-up'])
  })

  it('catches up immediately when it starts at the newest event', async () => {
    const log = await open()
    const { position } = await append(log, 'user-1', 1)
    writeForeign('response-1', 150)

    expect(await take(log, position, 1)).to.deep.equal(['caught-up'])
  })

  it('is sent nothing of the responses behind its start', async () => {
    const log = await open()
    const { position } = await append(log, 'user-1', 1)
    writeForeign('response-1', 200)
    const before = server.bytesSent()
    expect(await take(log, position, 1)).to.deep.equal(['caught-up'])
    const few = server.bytesSent() - before
    writeForeign('response-2', 3000)
    const between = server.bytesSent()
    expect(await take(log, position, 1)).to.deep.equal(['caught-up'])

    // Framing varies a little from call to call.
    expect(server.bytesSent() - between).to.be.lessThan(few + 200)
  })

  it('skips foreign events in streams with names like those of Signalbox', async () => {
    const log = await open()
    writeForeign('user-1', 1)
    writeForeign('user-2', 1, '')
    writeForeign('user-3', 1, 'not json')
    writeForeign('ids-of-another-program', 1, JSON.stringify(metadata))
    await append(log, 'ids', 1)
    writeForeign('user-4', 1, '[]')

    expect(await take(log, 0, 2)).to.deep.equal([1, 'caught-up'])
  })

  it('separates logs that share the server', async () => {
    const [one, other] = [await open('one-'), await open('other-')]
    await append(one, 'user-1', 1)
    await append(other, 'user-1', 2)
    await append(one, 'ids', 3)

    expect(await take(one, 0, 3)).to.deep.equal([1, 3, 'caught-up'])
    expect(await take(other, 0, 2)).to.deep.equal([2, 'caught-up'])
  })

  itInFull('applies backpressure to the server', async () => {
    const log = await open()
    const text = 'x'.repeat(100_000)
    for (let n = 0; n < 120; n++)
      await log.append('user-1', [{ type: 'Large', data: { n, text } }], {
        expectedRevision: 'any',
        metadata,
      })
    const abort = new AbortController()
    const items = log.subscribe(0, abort.signal)[Symbol.asyncIterator]()
    await items.next()
    for (let turn = 0; turn < 500; turn++) await new Promise((resolve) => setImmediate(resolve))

    expect(server.bytesSent()).to.be.lessThan(8_000_000)
    for (let taken = 1; taken < 120; taken++) await items.next()
    expect((await items.next()).value).to.equal('caught-up')
    expect(server.bytesSent()).to.be.greaterThan(12_000_000)
    abort.abort()
  })
})

async function take(log: EventLog, from: number, count: number): Promise<unknown[]> {
  const abort = new AbortController()
  const taken: unknown[] = []
  for await (const item of log.subscribe(from, abort.signal)) {
    taken.push(toNumber(item))
    if (taken.length === count) abort.abort()
  }
  return taken
}

function toNumber(item: RecordedEvent | 'caught-up'): unknown {
  return item === 'caught-up' ? item : item.data.n
}
