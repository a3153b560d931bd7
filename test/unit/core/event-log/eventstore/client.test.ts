import { inspect } from 'node:util'
import { expect } from 'chai'
import { type EventLog, EventLogUnavailableError } from '../../../../../core/contract/event-log.ts'
import {
  parseConnectionString,
  withDefaultOptions,
} from '../../../../../core/event-log/eventstore/connection-string.ts'
import { openEventStoreLog } from '../../../../../core/event-log/eventstore/eventstore-log.ts'
import { FOLLOWED_STREAMS } from '../../../../../projections/events/streams.ts'
import { collect, metadata, numbered, rejection } from '../../../../support/event-log-suite.ts'
import { type EventStore, startEventStore } from '../../../../support/eventstore/server.ts'
import { readTestTls } from '../../../../support/tls.ts'

describe('openEventStoreLog', () => {
  let server: EventStore
  const logs: EventLog[] = []

  beforeEach(async () => {
    server = await startEventStore()
  })

  afterEach(async () => {
    await Promise.all(logs.splice(0).map((log) => log.close()))
    await server.stop()
  })

  async function open(connectionString: string, timeoutMs = 60_000): Promise<EventLog> {
    const log = await openEventStoreLog({
      connectionString,
      timeoutMs,
      followedStreams: FOLLOWED_STREAMS,
    })
    logs.push(log)
    return log
  }

  for (const [kind, write] of Object.entries({
    'a single node': (host: string) => `esdb://${host}?tls=false`,
    'a single node with credentials': (host: string) => `esdb://admin:changeit@${host}?tls=false`,
    'a cluster by DNS name': (host: string) => `esdb+discover://${host}?tls=false`,
    'a cluster by its nodes': (host: string) => `esdb://127.0.0.1:1,${host}/?tls=false&nodePreference=leader`,
    'a KurrentDB node': (host: string) => `kurrentdb://${host}?tls=false`,
    'a KurrentDB cluster': (host: string) => `kurrentdb+discover://${host}?tls=false`,
  })) {
    it(`accepts the connection string of ${kind}`, async () => {
      const log = await open(write(`127.0.0.1:${server.port}`))
      await log.append('user-1', [numbered(1)], { expectedRevision: -1, metadata })

      expect(await collect(log.read('user-1'))).to.have.length(1)
    })
  }

  for (const scheme of ['esdb', 'esdb+discover']) {
    it(`connects to an IP address with TLS by ${scheme}`, async () => {
      const { tls, caFile } = await readTestTls()
      const secured = await startEventStore({ tls })
      const host = `admin:changeit@127.0.0.1:${secured.port}`
      const log = await open(`${scheme}://${host}?tlsCAFile=${encodeURIComponent(caFile)}`)

      await log.append('user-1', [numbered(1)], { expectedRevision: -1, metadata })
      expect(await collect(log.read('user-1'))).to.have.length(1)
      await log.close()
      await secured.stop()
    })
  }

  it('handles throwOnAppendFailure=false in the connection string', async () => {
    const log = await open(`${server.connectionString}&throwOnAppendFailure=false`)

    const error = await rejection(log.append('user-1', [numbered(1)], { expectedRevision: 3, metadata }))

    expect(error).to.include({ name: 'WrongExpectedRevisionError', expected: 3, actual: -1 })
  })

  it('fails with a clear message if nothing listens at the address', async () => {
    const { port } = server
    await server.stop()

    const error = await rejection(open(`esdb://admin:s3cret@127.0.0.1:${port}?tls=false`))

    expect(error).to.be.instanceOf(EventLogUnavailableError)
    expect(error)
      .to.have.property('message')
      .that.matches(/^the event log server cannot be reached: .*ECONNREFUSED/)
    expect(inspect(error, { depth: 9, showHidden: true })).to.not.include('s3cret')
    server = await startEventStore()
  })

  it('fails if no node of a cluster responds', async () => {
    const error = await rejection(open('esdb://127.0.0.1:1,127.0.0.1:2?tls=false&maxDiscoverAttempts=2'))

    expect(error).to.be.instanceOf(EventLogUnavailableError)
    expect(error).to.have.property('message').that.includes('Failed to discover')
  })

  it('fails after the timeout if the server does not respond', async () => {
    server.delay(60_000)
    const started = performance.now()

    const error = await rejection(open(server.connectionString, 100))

    expect(error).to.be.instanceOf(EventLogUnavailableError)
    expect(error).to.have.property('message', 'the event log server did not respond in time')
    expect(performance.now() - started).to.be.above(90)
  })

  describe('names wrong TLS settings, which a retry may outlive', () => {
    const cases: Readonly<Record<string, readonly [hasTls: boolean, options: string, hint: string]>> = {
      'another authority': [true, 'tlsCAFile=OTHER', 'set tlsCAFile to the certificate of its authority'],
      'no authority': [true, 'tls=true', 'set tlsCAFile to the certificate of its authority'],
      'TLS on a server without it': [false, 'tls=true', 'add tls=false'],
      'no TLS on a server with it': [true, 'tls=false', 'remove tls=false'],
    }
    for (const [name, [hasTls, options, hint]] of Object.entries(cases)) {
      for (const host of ['localhost', '127.0.0.1'])
        it(`${name}, at ${host}`, async () => {
          const { tls, otherCaFile } = await readTestTls()
          const other = await startEventStore(hasTls ? { tls } : {})
          const query = options.replace('OTHER', encodeURIComponent(otherCaFile))

          const error = await rejection(open(`esdb://${host}:${other.port}?${query}`))

          expect(error).to.be.instanceOf(EventLogUnavailableError).and.include({ transient: true })
          expect(error).to.have.property('message').that.includes(hint)
          await other.stop()
        })
    }
  })

  it('fails if the server denies access', async () => {
    server.refuse('access-denied')

    const error = await rejection(open(server.connectionString))

    expect(error).to.be.instanceOf(EventLogUnavailableError)
    expect(error).to.have.property('message').that.includes('denied access: check the user name and password')
  })

  describe('rejects a connection string', () => {
    const cases = {
      'with another scheme': 'http://admin:s3cret@localhost:2113',
      'without a host': 'esdb://admin:s3cret@',
      'with an unencoded @ in the password': 'esdb://admin:s3cret@s3cret@localhost:2113',
      'with an unencoded : in the password': 'esdb://admin:s3cret:s3cret@localhost:2113',
      'with an unknown option': 'esdb://admin:s3cret@localhost?tsl=false',
      'with an option without a value': 'esdb://admin:s3cret@localhost?tls',
      'with an invalid value': 'esdb://admin:s3cret@localhost?tls=maybe',
      'with a port that is not a number': 'esdb://admin:s3cret@localhost:port',
      'with a missing certificate file': 'esdb://admin:s3cret@localhost?tlsCAFile=/not/there',
      'that disables certificate verification': 'esdb://admin:s3cret@localhost?tlsVerifyCert=false',
    }
    for (const [kind, connectionString] of Object.entries(cases)) {
      it(`${kind}, without revealing the password`, async () => {
        const error = await rejection(open(connectionString))

        expect(error).to.be.instanceOf(EventLogUnavailableError)
        expect(error)
          .to.have.property('message')
          .that.matches(/connection string is not valid: ./)
        expect(inspect(error, { depth: 9, showHidden: true })).to.not.include('s3cret')
      })
    }
  })

  it('uses all hosts of a string with +discover', () => {
    expect(parseConnectionString('esdb+discover://a:1,b:2?tls=false')).to.equal('esdb://a:1,b:2?tls=false')
  })

  it('notices a silent server within 3 seconds, unless the string sets keepalive options', () => {
    const defaults = 'keepAliveInterval=1200&keepAliveTimeout=1500&gossipTimeout=1'
    expect(withDefaultOptions('esdb://a:1')).to.equal(`esdb://a:1?${defaults}`)
    expect(withDefaultOptions('esdb://a:1?keep_alive_interval=5000')).to.equal(
      'esdb://a:1?keep_alive_interval=5000&keepAliveTimeout=1500&gossipTimeout=1',
    )
  })

  it('does not change a valid connection string', () => {
    const string = 'esdb+discover://u%40:p%3A@a:1?tls=true&tlsCAFile=%2Fca.pem&keep_alive_interval=10000'

    expect(parseConnectionString(string)).to.equal(string)
  })
})
