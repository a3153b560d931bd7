import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { type EventLog, EventLogUnavailableError, type RecordedEvent } from '../../core/contract/event-log.ts'
import { openEventStoreLog } from '../../core/event-log/eventstore/eventstore-log.ts'
import { openSqliteLog } from '../../core/event-log/sqlite/sqlite-log.ts'
import { FOLLOWED_STREAMS } from '../../projections/events/streams.ts'
import { collect, metadata, rejection } from '../support/event-log-suite.ts'
import { type EventStore, startEventStore } from '../support/eventstore/server.ts'
import { makeFolder } from '../support/folders.ts'
import { nodeArguments } from '../support/root.ts'

describe('the time that the SQLite log takes', () => {
  it('to deliver events of another process is short', async () => {
    const directory = await makeFolder()
    const log = await openSqliteLog({ directory })
    const abort = new AbortController()
    const items = log.subscribe(0, abort.signal)[Symbol.asyncIterator]()
    await items.next()
    const script = nodeArguments('test/unit/core/event-log/sqlite/fixtures/append-on-demand')
    const child = spawn(process.execPath, [...script, directory], { stdio: ['pipe', 'pipe', 'inherit'] })
    await once(createInterface({ input: child.stdout }), 'line')

    const delaysMs: number[] = []
    for (let n = 0; n < 15; n++) {
      child.stdin.write(`line ${n}\n`)
      const { data } = (await items.next()).value as RecordedEvent
      delaysMs.push(Date.now() - Number(data.at))
    }
    abort.abort()
    child.stdin.end()
    await once(child, 'exit')
    await log.close()

    expect(delaysMs.sort((a, b) => a - b)[7]).to.be.lessThan(100)
  })

  it('while nobody writes is little: its thread wakes up some ten times a second', async function () {
    if (process.platform !== 'linux') this.skip()
    const log = await openSqliteLog({ directory: await makeFolder() })
    const abort = new AbortController()
    await log.subscribe(0, abort.signal)[Symbol.asyncIterator]().next()

    await sleep(1500)
    const before = countWakeUps()
    await sleep(1000)
    const wakeUps = countWakeUps() - before
    abort.abort()
    await log.close()

    expect(wakeUps).to.be.lessThan(100)
  })
})

/** How often threads of this process have waited for something. */
function countWakeUps(): number {
  const counts = readdirSync('/proc/self/task').map((thread) => {
    const status = readFileSync(`/proc/self/task/${thread}/status`, 'utf8')
    return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1])
  })
  return counts.reduce((total, count) => total + count, 0)
}

describe('the time that the EventStoreDB log takes', () => {
  const TIMEOUT_MS = 400
  let file: string
  let server: EventStore
  let log: EventLog

  before(async () => {
    file = path.join(await makeFolder(), 'events.db')
    server = await startEventStore({ file })
    log = await openEventStoreLog({
      connectionString: server.connectionString,
      timeoutMs: TIMEOUT_MS,
      followedStreams: FOLLOWED_STREAMS,
    })
    await append()
  })
  after(async () => {
    await log.close()
    await server.stop()
  })

  const append = () =>
    log.append('user-1', [{ type: 'Any', data: {} }], { expectedRevision: 'any', metadata })

  it('to end a subscription when its signal aborts is short', async () => {
    server.delay(60_000)
    const abort = new AbortController()
    const items = collect(log.subscribe(0, abort.signal))
    const startedAt = performance.now()
    abort.abort()

    expect(await items).to.deep.equal([])
    expect(performance.now() - startedAt).to.be.lessThan(100)
  })

  it('to fail appends, reads and subscriptions is bounded when the server does not respond', async () => {
    server.delay(60_000)
    const startedAt = performance.now()

    const errors = await Promise.all([
      rejection(append()),
      rejection(collect(log.read('user-1'))),
      rejection(collect(log.subscribe(0, new AbortController().signal))),
    ])

    for (const error of errors) expect(error).to.be.instanceOf(EventLogUnavailableError)
    expect(performance.now() - startedAt).to.be.lessThan(2 * TIMEOUT_MS + 200)
    server.delay(0)
  })

  it('to fail or complete an append is bounded while the server restarts', async () => {
    let isRestarting = true
    const durationsMs: number[] = []
    const write = async () => {
      while (isRestarting) {
        const startedAt = performance.now()
        await append().catch((error) => expect(error).to.be.instanceOf(EventLogUnavailableError))
        durationsMs.push(performance.now() - startedAt)
      }
    }
    const writers = [write(), write()]
    try {
      for (let restart = 0; restart < 3; restart++) {
        await server.stop()
        await rejection(append())
        server = await startEventStore({ port: server.port, file })
      }
    } finally {
      isRestarting = false
    }
    await Promise.all(writers)

    expect(Math.max(...durationsMs)).to.be.lessThan(2 * TIMEOUT_MS + 200)
  })
})
