import { inspect } from 'node:util'
import { expect } from 'chai'
import { type EventLog, EventLogUnavailableError } from '../../../../../core/contract/event-log.ts'
import { parseConnectionString } from '../../../../../core/event-log/eventstore/client.ts'
import { openEventStoreLog } from '../../../../../core/event-log/eventstore/eventstore-log.ts'
import { FOLLOWED_STREAMS } from '../../../../../core/events/streams.ts'
import { collect, metadata, numbered, rejection } from '../../../../support/event-log-suite.ts'
import { type EventStore, startEventStore } from '../../../../support/eventstore/server.ts'

describe('the EventStoreDB log, opening', () => {
  let server: EventStore
  const logs: EventLog[] = []

  beforeEach(async () => {
    server = await startEventStore()
  })

  afterEach(async () => {
    await Promise.all(logs.splice(0).map((log) => log.close()))
    await server.stop()
  })

  async function open(connectionString: string, patience = 2000): Promise<EventLog> {
    const log = await openEventStoreLog({
      connectionString,
      timeoutMs: patience,
      followedStreams: FOLLOWED_STREAMS,
    })
    logs.push(log)
    return log
  }

  for (const [kind, write] of Object.entries({
    'a single node': (host: string) => `esdb://${host}?tls=false`,
    'a single node with credentials': (host: string) => `esdb://admin:changeit@${host}?tls=false`,
    'a cluster by name': (host: string) => `esdb+discover://${host}?tls=false`,
    'a cluster by its nodes': (host: string) => `esdb://127.0.0.1:1,${host}/?tls=false&nodePreference=leader`,
    'a KurrentDB node': (host: string) => `kurrentdb://${host}?tls=false`,
    'a KurrentDB cluster': (host: string) => `kurrentdb+discover://${host}?tls=false`,
  })) {
    it(`takes the connection string of ${kind}`, async () => {
      const log = await open(write(`127.0.0.1:${server.port}`))
      await log.append('user-1', [numbered(1)], { expectedRevision: -1, metadata })

      expect(await collect(log.read('user-1'))).to.have.length(1)
    })
  }

  it('does not throw where the connection string asks for failures as results', async () => {
    const log = await open(`${server.connectionString}&throwOnAppendFailure=false`)

    const error = await rejection(log.append('user-1', [numbered(1)], { expectedRevision: 3, metadata }))

    expect(error).to.include({ name: 'WrongExpectedRevisionError', expected: 3, actual: -1 })
  })

  it('fails with a sentence when nothing listens at the address', async () => {
    const { port } = server
    await server.stop()
    const started = performance.now()

    const error = await rejection(open(`esdb://admin:s3cret@127.0.0.1:${port}?tls=false`))

    expect(error).to.be.instanceOf(EventLogUnavailableError)
    expect(error)
      .to.have.property('message')
      .that.matches(/^the event log server cannot be reached: .*ECONNREFUSED/)
    expect(inspect(error, { depth: 9, showHidden: true })).to.not.include('s3cret')
    expect(performance.now() - started).to.be.lessThan(1000)
    server = await startEventStore()
  })

  it('fails when no node of a cluster answers', async () => {
    const error = await rejection(open('esdb://127.0.0.1:1,127.0.0.1:2?tls=false&maxDiscoverAttempts=2'))

    expect(error).to.be.instanceOf(EventLogUnavailableError)
    expect(error).to.have.property('message').that.includes('Failed to discover')
  })

  it('fails within its patience when the server does not answer', async () => {
    server.delay(60_000)
    const started = performance.now()

    const error = await rejection(open(server.connectionString, 100))

    expect(error).to.be.instanceOf(EventLogUnavailableError)
    expect(error).to.have.property('message', 'the event log server did not respond in time')
    expect(performance.now() - started).to.be.within(90, 1000)
  })

  it('fails when the server denies access', async () => {
    server.refuse('access-denied')

    const error = await rejection(open(server.connectionString))

    expect(error).to.be.instanceOf(EventLogUnavailableError)
    expect(error).to.have.property('message').that.includes('denied access: check the user name and password')
  })

  describe('refuses a connection string', () => {
    const cases = {
      'of another scheme': 'http://admin:s3cret@localhost:2113',
      'without a host': 'esdb://admin:s3cret@',
      'with an @ in the password that is not encoded': 'esdb://admin:s3cret@s3cret@localhost:2113',
      'with a : in the password that is not encoded': 'esdb://admin:s3cret:s3cret@localhost:2113',
      'with an option that is not known': 'esdb://admin:s3cret@localhost?tsl=false',
      'with an option without value': 'esdb://admin:s3cret@localhost?tls',
      'with a value that is not allowed': 'esdb://admin:s3cret@localhost?tls=maybe',
      'with a port that is no number': 'esdb://admin:s3cret@localhost:port',
      'with a certificate file that is not there': 'esdb://admin:s3cret@localhost?tlsCAFile=/not/there',
      'that turns the check of certificates off': 'esdb://admin:s3cret@localhost?tlsVerifyCert=false',
    }
    for (const [kind, connectionString] of Object.entries(cases)) {
      it(`${kind}, and shows nothing of the password`, async () => {
        const error = await rejection(open(connectionString))

        expect(error).to.be.instanceOf(EventLogUnavailableError)
        expect(error)
          .to.have.property('message')
          .that.matches(/connection string is not valid: ./)
        expect(inspect(error, { depth: 9, showHidden: true })).to.not.include('s3cret')
      })
    }
  })

  it('leaves what it accepts as it is', () => {
    const string = 'esdb+discover://u%40:p%3A@a:1,b:2?tls=true&tlsCAFile=%2Fca.pem&keep_alive_interval=10000'

    expect(parseConnectionString(string)).to.equal(string)
  })
})
