import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AppendExpectedRevision,
  BACKWARDS,
  EventStoreDBClient,
  jsonEvent,
  NO_STREAM,
  streamNameFilter,
} from '@eventstore/db-client'
import { status } from '@grpc/grpc-js'
import { expect } from 'chai'
import { connectEventStore } from '../../../../core/event-log/eventstore/client.ts'
import { rejection } from '../../../support/event-log-suite.ts'
import { type EventStore, startEventStore } from '../../../support/eventstore/server.ts'
import { itInFull } from '../../../support/rounds.ts'
import { readTestTls } from '../../../support/tls.ts'

/** With credentials, the official client sends each append as a call of its own. */
const CREDENTIALS = { username: 'signalbox', password: 'changeit' }

/** What was found on a real EventStoreDB 24.2, as its official client sees it. */
describe('the EventStoreDB test server', () => {
  let folder: string
  let server: EventStore
  let client: EventStoreDBClient

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'signalbox-eventstore-'))
    await start()
  })

  afterEach(async () => {
    await client.dispose()
    await server.stop()
    await rm(folder, { recursive: true })
  })

  async function start(): Promise<void> {
    server = await startEventStore({ file: join(folder, 'events.db') })
    client = EventStoreDBClient.connectionString(server.connectionString)
  }

  async function restart(): Promise<void> {
    await client.dispose()
    await server.stop()
    await start()
  }

  const event = (text = '') => jsonEvent({ type: 'Written', data: { text } })
  const append = (
    stream: string,
    events: ReturnType<typeof event>[],
    expectedRevision: AppendExpectedRevision = 'any',
  ) => client.appendToStream(stream, events, { expectedRevision, credentials: CREDENTIALS })

  async function read(stream: string): Promise<unknown[]> {
    const texts: unknown[] = []
    for await (const { event } of client.readStream(stream))
      if (event) texts.push((event.data as { text: string }).text)
    return texts
  }

  describe('recognizes a repeated append', () => {
    for (const [kind, expectedRevision] of [
      ['at an expected revision', 0n],
      ['that expects no stream', NO_STREAM],
    ] as const) {
      it(`${kind}, also after a restart`, async () => {
        if (expectedRevision === 0n) await append('user-1', [event('first')])
        const repeated = [event('a'), event('b')]
        const first = await append('user-1', repeated, expectedRevision)
        await append('user-1', [event('later')])
        await restart()

        expect(await append('user-1', repeated, expectedRevision)).to.deep.equal(first)
        expect((await read('user-1')).filter((text) => text === 'b')).to.have.length(1)
      })
    }

    it('without an expected revision only until a restart', async () => {
      const repeated = [event('a')]
      const first = await append('user-1', repeated)
      expect(await append('user-1', repeated)).to.deep.equal(first)
      await restart()

      await append('user-1', repeated)

      expect(await read('user-1')).to.deep.equal(['a', 'a'])
    })

    it('of which only a part was written as a conflict', async () => {
      const written = event('a')
      await append('user-1', [written], NO_STREAM)

      const error = await rejection(append('user-1', [written, event('b')], NO_STREAM))

      expect(error).to.include({ type: 'wrong-expected-version', actualVersion: 0n })
    })
  })

  describe('limits the size of appends', () => {
    const ofBytes = (bytes: number) => event('x'.repeat(bytes))

    it('to 1 MiB, of all their events together', async () => {
      await append('user-1', [ofBytes(500_000), ofBytes(500_000)])
      const error = await rejection(append('user-1', [ofBytes(530_000), ofBytes(530_000)]))

      expect(error).to.include({
        type: 'maximum-append-size-exceeded',
        maxAppendSize: 1_048_576,
        code: status.INVALID_ARGUMENT,
      })
    })

    itInFull('to 16 MiB of a message, without naming the limit', async () => {
      const error = await rejection(append('user-1', [ofBytes(17 * 1024 * 1024)]))

      expect(error).to.include({ type: 'unknown', code: status.RESOURCE_EXHAUSTED })
    })
  })

  describe('keeps what was deleted', () => {
    const chunks = () => server.store.chunks().toString()

    it('in the last event of an expired stream, whatever a scavenge removes', async () => {
      await client.setStreamMetadata('response-1', { maxAge: 1 })
      await append('response-1', [event('early prompt'), event('late prompt')])
      while ((await read('response-1')).length > 0);
      server.store.scavenge()

      expect(chunks()).to.not.include('early prompt')
      expect(chunks()).to.include('late prompt')
    })

    it('in the last event of a deleted stream', async () => {
      await append('response-1', [event('early prompt'), event('late prompt')])
      await client.deleteStream('response-1')
      expect(chunks()).to.include('early prompt')
      server.store.scavenge()

      expect(chunks()).to.not.include('early prompt')
      expect(chunks()).to.include('late prompt')
      expect(await rejection(read('response-1'))).to.have.property('type', 'stream-not-found')
    })

    it('nowhere after a tombstone and a scavenge', async () => {
      await client.setStreamMetadata('response-1', { maxAge: 3600 })
      await append('response-1', [event('early prompt'), event('late prompt')])
      await client.tombstoneStream('response-1')
      server.store.scavenge()

      expect(chunks()).to.not.include('prompt')
      expect(chunks()).to.not.include('maxAge')
    })

    it('in $all until a scavenge, also what $maxCount and $tb hide', async () => {
      await append('rules-1', [event('a'), event('b'), event('c')])
      server.store.setMetadata('rules-1', { $maxCount: 2, $tb: 2 })

      expect(await read('rules-1')).to.deep.equal(['c'])
      expect(await readAll('rules-')).to.deep.equal(['0 a', '1 b', '2 c'])
      server.store.scavenge()
      expect(await readAll('rules-')).to.deep.equal(['2 c'])
    })
  })

  it('continues the revisions of a deleted stream', async () => {
    await append('rules-1', [event('a'), event('b')])
    await client.deleteStream('rules-1')

    await append('rules-1', [event('c')], NO_STREAM)

    expect(await read('rules-1')).to.deep.equal(['c'])
    expect(await readAll('rules-')).to.deep.equal(['0 a', '1 b', '2 c'])
  })

  describe('refuses everything on a tombstoned stream', () => {
    beforeEach(async () => {
      await append('rules-1', [event('a')])
      await client.tombstoneStream('rules-1')
    })

    for (const [kind, call] of Object.entries({
      appends: () => append('rules-1', [event('b')]),
      reads: () => read('rules-1'),
      deletes: () => client.deleteStream('rules-1'),
      'another tombstone': () => client.tombstoneStream('rules-1'),
    })) {
      it(kind, async () => {
        const error = await rejection(call())

        expect(error).to.include({ type: 'stream-deleted', streamName: 'rules-1' })
        expect(error).to.have.nested.property('_raw.code', status.FAILED_PRECONDITION)
        expect(error).to.have.property('message').that.includes('is deleted')
      })
    }

    it('shows the tombstone in $all', async () => {
      expect(await readAll('rules-')).to.deep.equal(['0 a', '9223372036854775807 $streamDeleted'])
    })
  })

  it('does not delete a stream that does not exist, but tombstones it', async () => {
    expect(await rejection(client.deleteStream('response-1'))).to.have.property(
      'type',
      'wrong-expected-version',
    )
    await client.tombstoneStream('response-1')

    expect(await rejection(append('response-1', [event()]))).to.have.property('type', 'stream-deleted')
  })

  describe('reads $all', () => {
    it('only from positions of events', async () => {
      const { position } = await append('user-1', [event('a')])
      await append('user-1', [event('b')])
      const between = { commit: (position?.commit ?? 0n) + 1n, prepare: (position?.prepare ?? 0n) + 1n }

      const error = await rejection(toArray(client.readAll({ fromPosition: between })))
      const subscribed = await rejection(toArray(client.subscribeToAll({ fromPosition: between })))

      for (const { code, message } of [error, subscribed] as unknown as { code: number; message: string }[]) {
        expect(code).to.equal(status.INVALID_ARGUMENT)
        expect(message).to.include('Trying to read from an invalid position.')
      }
    })

    it('from the position of a scavenged event', async () => {
      const { position } = await append('user-1', [event('a')])
      await append('user-1', [event('b')])
      server.store.setMetadata('user-1', { $tb: 1 })
      server.store.scavenge()

      const events = await toArray(client.readAll({ fromPosition: position ?? 'start' }))

      expect(events.map(({ event }) => event?.revision)).to.deep.equal([1n, 0n])
    })

    it('from positions after the end, as if there were nothing to read', async () => {
      const end = { commit: 10_000_000n, prepare: 10_000_000n }
      const subscription = client.subscribeToAll({ fromPosition: end })
      await new Promise((resolve) => subscription.once('caughtUp', resolve))

      expect(await toArray(client.readAll({ fromPosition: end }))).to.deep.equal([])
      await subscription.unsubscribe()
    })
  })

  it('denies writes to users who may only read', async () => {
    const { tls, caFile } = await readTestTls()
    const users = { signalbox: { password: 'changeit', mayWrite: false } }
    const secured = await startEventStore({ tls, users })
    const url = `esdb://signalbox:changeit@127.0.0.1:${secured.port}?tlsCAFile=${caFile}`
    const { client: reader } = connectEventStore(url)

    const error = await rejection(reader.appendToStream('user-1', [event()], { credentials: CREDENTIALS }))

    expect(error).to.include({ type: 'access-denied', code: status.PERMISSION_DENIED })
    expect(await toArray(reader.readAll({ direction: BACKWARDS, fromPosition: 'end' }))).to.deep.equal([])
    secured.setUsers({ signalbox: { password: 'changed' } })
    const unknown = await rejection(toArray(reader.readAll()))
    expect(unknown).to.include({ type: 'access-denied', code: status.UNAUTHENTICATED })
    await reader.dispose()
    await secured.stop()
  })

  it('answers nothing while it is frozen, and goes on afterwards', async () => {
    await append('user-1', [event('a')])
    server.freeze()

    const frozen = await rejection(
      client.appendToStream('user-1', [event('b')], { credentials: CREDENTIALS, deadline: 100 }),
    )
    server.thaw()

    expect(frozen).to.have.property('type', 'deadline-exceeded')
    await append('user-1', [event('c')])
    expect(await read('user-1')).to.include.members(['a', 'c'])
  })

  /** Revision and content of every event in `$all` whose stream begins with `prefix`. */
  async function readAll(prefix: string): Promise<string[]> {
    const events = await toArray(client.readAll())
    return events.flatMap(({ event }) => {
      if (!event?.streamId.startsWith(prefix)) return []
      const { text = event.type } = event.data as { text?: string }
      return [`${event.revision} ${text}`]
    })
  }

  it('sends subscriptions only what passes the filter, with checkpoints for the rest', async () => {
    for (let count = 0; count < 100; count++) await append('response-1', [event()])
    await append('user-1', [event('a')])
    const checkpoints: bigint[] = []
    const filter = streamNameFilter({
      prefixes: ['user-'],
      checkpointReached: async (_, { commit }) => void checkpoints.push(commit),
    })
    const subscription = client.subscribeToAll({ filter })
    const received: string[] = []
    subscription.on('data', ({ event }) => received.push(event?.streamId ?? ''))
    await new Promise((resolve) => subscription.once('caughtUp', resolve))

    expect(received).to.deep.equal(['user-1'])
    expect(checkpoints.length).to.be.greaterThan(2)
    expect(server.scanned()).to.equal(101)
    await subscription.unsubscribe()
  })
})

async function toArray<Item>(source: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = []
  for await (const item of source) items.push(item)
  return items
}
