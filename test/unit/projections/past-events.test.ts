import { expect } from 'chai'
import type { EventLog, RecordedEvent } from '../../../core/contract/index.ts'
import type { DomainEvent } from '../../../projections/events/registry.ts'
import { createPastEventReader } from '../../../projections/past-events.ts'
import { created, pastEvents, updated, userCreated } from '../../support/past-events.ts'

describe('createPastEventReader', () => {
  let stored: RecordedEvent[]
  let readRevisions: [stream: string, from: number][]
  const log: Pick<EventLog, 'read'> = {
    async *read(stream, from = 0) {
      readRevisions.push([stream, from])
      yield* stored.filter((record) => record.stream === stream && record.revision >= from)
    },
  }

  beforeEach(() => {
    stored = withRevisions(userCreated, created(5), updated(5, { priority: 1 }))
    readRevisions = []
  })

  /** Events as a log returns them, with the revisions of their streams. */
  function withRevisions(...events: readonly DomainEvent[]): RecordedEvent[] {
    const next = new Map<string, number>()
    return pastEvents(...events).map(({ record }) => {
      const revision = next.get(record.stream) ?? 0
      next.set(record.stream, revision + 1)
      return { ...record, revision }
    })
  }

  const streams = () => [...new Set(stored.map(({ stream }) => stream))]

  it('returns the events of all streams in log order', async () => {
    const events = await createPastEventReader(log)(streams().toReversed())
    expect(events.map(({ record }) => record.position)).to.deep.equal([10, 20, 30])
  })

  it('reads a stream again from where it ended, and returns new events', async () => {
    const read = createPastEventReader(log)
    const [first = '', second = ''] = streams()
    await read([first, second])
    stored = withRevisions(userCreated, created(5), updated(5, { priority: 1 }), created(6))
    readRevisions = []
    const events = await read([first, second])
    expect(events.map(({ record }) => record.position)).to.deep.equal([10, 20, 30, 40])
    expect(readRevisions).to.deep.equal([
      [first, 1],
      [second, 2],
    ])
  })

  it('reads a stream once for several readers at a time', async () => {
    const read = createPastEventReader(log)
    const [, second = ''] = streams()
    const results = await Promise.all([read([second]), read([second]), read([second])])
    for (const events of results) expect(events).to.have.length(2)
    expect(readRevisions.filter(([, from]) => from === 0)).to.have.length(1)
  })

  it('does not keep streams that are too long', async () => {
    const read = createPastEventReader(log, 2)
    const [, second = ''] = streams()
    await read([second])
    expect(await read([second])).to.have.length(2)
    expect(readRevisions).to.deep.equal([
      [second, 0],
      [second, 0],
    ])
  })
})
