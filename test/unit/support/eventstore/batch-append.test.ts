import { EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import grpc from '@eventstore/db-client/generated/streams_grpc_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import { credentials } from '@grpc/grpc-js'
import { expect } from 'chai'
import { rejection } from '../../../support/event-log-suite.ts'
import { type EventStore, startEventStore } from '../../../support/eventstore/server.ts'
import { waitUntil } from '../../../support/wait.ts'

/** Without credentials, the official client sends its appends over one batch append call. */
describe('the EventStoreDB test server, on a batch append call', () => {
  let server: EventStore
  let client: EventStoreDBClient

  beforeEach(async () => {
    server = await startEventStore()
    client = EventStoreDBClient.connectionString(server.connectionString)
    await append('user-1')
  })

  afterEach(async () => {
    await client.dispose()
    await server.stop()
  })

  const append = (stream: string, text = '') =>
    client.appendToStream(stream, jsonEvent({ type: 'Written', data: { text } }), {
      expectedRevision: NO_STREAM,
    })

  it('answers refused appends with their reason, and goes on with the call', async () => {
    server.store.tombstone('user-2', 'any')

    expect(await rejection(append('user-1'))).to.include({ type: 'wrong-expected-version' })
    expect(await rejection(append('user-2'))).to.include({ type: 'stream-deleted' })
    expect(await rejection(append('user-3', 'x'.repeat(1_100_000)))).to.include({
      type: 'maximum-append-size-exceeded',
      maxAppendSize: 1_048_576,
    })
    server.refuse('access-denied', {}, ['append'])
    expect(await rejection(append('user-4'))).to.include({ type: 'access-denied' })
    server.refuse('not-ready', {}, ['append'])
    const notReady = await rejection(append('user-4'))
    expect(notReady).to.include({ message: 'Could not recognize Server Is Not Ready' })
    server.accept()
    expect(await append('user-4')).to.include({ success: true })
    expect(server.appendCalls()).to.equal(1)
  })

  it('ends the call if another node is the leader', async () => {
    server.refuse('not-leader', { 'leader-endpoint-host': '127.0.0.1', 'leader-endpoint-port': '1' })
    const call = openCall()
    const ended = new Promise<Error>((resolve) => call.on('error', resolve))
    call.resume().write(request('user-2'))

    expect(await ended).to.include({ details: 'Leader info available' })
  })

  it('delays appends at the same time, and keeps their order', async () => {
    const release = server.hold()
    const appends = Array.from({ length: 10 }, (_, n) => append(`rules-${n}`))
    await waitUntil(() => server.delayedCalls() === 10)
    expect(server.store.exists('rules-0')).to.equal(false)
    release()
    await Promise.all(appends)

    const written = server.store.readAll(0, 'forwards', 100).map(({ stream }) => stream)
    expect(written).to.deep.equal(['user-1', ...Array.from({ length: 10 }, (_, n) => `rules-${n}`)])
  })

  function openCall() {
    return new grpc.StreamsClient(`127.0.0.1:${server.port}`, credentials.createInsecure()).batchAppend()
  }

  function request(stream: string) {
    const id = new shared.UUID()
    id.setString(stream)
    const identifier = new shared.StreamIdentifier()
    identifier.setStreamName(Buffer.from(stream))
    const options = new streams.BatchAppendReq.Options()
    options.setStreamIdentifier(identifier)
    options.setAny(new shared.Empty())
    const event = new streams.BatchAppendReq.ProposedMessage()
    event.setId(id)
    const message = new streams.BatchAppendReq()
    message.setCorrelationId(id)
    message.setOptions(options)
    message.addProposedMessages(event)
    message.setIsFinal(true)
    return message
  }
})
