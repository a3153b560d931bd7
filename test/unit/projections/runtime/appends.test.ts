import { expect } from 'chai'
import { pino } from 'pino'
import type { EventLog, EventMetadata, NewEvent, RecordedEvent } from '../../../../core/contract/index.ts'
import { SYSTEM_ACTOR } from '../../../../core/event-log/actor.ts'
import { openEventStoreLog } from '../../../../core/event-log/eventstore/eventstore-log.ts'
import { createMemoryLog } from '../../../../core/event-log/memory.ts'
import { openSqliteLog } from '../../../../core/event-log/sqlite/sqlite-log.ts'
import { isContinued, markAppend } from '../../../../core/events/codec.ts'
import { FOLLOWED_STREAMS } from '../../../../projections/events/streams.ts'
import { createRulesProjection } from '../../../../projections/rules.ts'
import { subscribeProjections } from '../../../../projections/runtime/subscribe.ts'
import { type EventStore, startEventStore } from '../../../support/eventstore/server.ts'
import { makeFolder } from '../../../support/folders.ts'
import { itInFull } from '../../../support/rounds.ts'

let server: EventStore | undefined

const LOGS: Readonly<Record<string, () => Promise<EventLog>>> = {
  'the log in memory': async () => createMemoryLog(),
  'the embedded log': async () => openSqliteLog({ directory: await makeFolder(), delivers: 'stored-events' }),
  EventStoreDB: async () => {
    server = await startEventStore()
    const { connectionString } = server
    return openEventStoreLog({ connectionString, followedStreams: FOLLOWED_STREAMS })
  },
}

const metadataOf = (time: string): EventMetadata => ({ actor: SYSTEM_ACTOR, time, schema: 1 })
const created = (ruleId: number): NewEvent => ({
  type: 'FirewallRuleCreated',
  data: { userId: 1, ruleId, content: { pattern: 'x', priority: 0 } },
})
const createdFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => created(first + index))

for (const [name, open] of Object.entries(LOGS)) {
  describe(`an append to ${name}`, () => {
    /** More events than a page of the log has, if it has pages. */
    const MANY = name === 'the embedded log' ? 4300 : 300
    let log: EventLog
    beforeEach(async () => {
      log = await open()
    })
    afterEach(async () => {
      await log.close()
      await server?.stop()
      server = undefined
    })

    /** Appends as commands do. */
    const append = (
      stream: string,
      events: readonly NewEvent[],
      expectedRevision: number,
      metadata = metadataOf('2026-01-01T00:00:00.000001Z'),
    ) => {
      const marked = markAppend(metadata, { expectedRevision, events: events.length })
      return log.append(stream, events, { expectedRevision, metadata: marked })
    }

    it('is in force as a whole or not at all, whenever a reader looks', async () => {
      const rules = createRulesProjection()
      const subscription = subscribeProjections(log, [rules], pino({ level: 'silent' }))
      await subscription.caughtUp
      const seen = new Set<string>()
      let isDone = false
      const observe = () => {
        seen.add(`${rules.of(1).firewall.length} at ${subscription.position()}`)
        if (!isDone) setImmediate(observe)
      }
      observe()
      const { position } = await append('rules-1', createdFrom(1, MANY), -1)
      await subscription.until(() => subscription.position() === position)
      observe()
      isDone = true
      await subscription.close()
      expect([...seen]).to.deep.equal(['0 at 0', `${MANY} at ${position}`])
    })

    it('is counted as received event by event, as its receivers get it', async () => {
      const subscription = subscribeProjections(log, [], pino({ level: 'silent' }))
      await subscription.caughtUp
      const revisions: number[] = []
      subscription.onReceived(({ revision }) => {
        revisions.push(revision)
        expect(subscription.received()).to.equal(revisions.length)
      })
      await append('rules-1', createdFrom(1, MANY), -1)
      await subscription.until(() => revisions.length === MANY)
      await subscription.close()
      expect(revisions).to.deep.equal(Array.from({ length: MANY }, (_, index) => index))
    })

    const test = name === 'EventStoreDB' ? itInFull : it
    test('is in force as a whole with as many events as fit into one', async () => {
      const appendSmall = (count: number) =>
        append('plugin-a-1', Array<NewEvent>(count).fill({ type: 'A', data: {} }), -1)
      const subscription = subscribeProjections(log, [], pino({ level: 'silent' }))
      await subscription.caughtUp
      const { bytes, limit } = await appendSmall(20_000).catch((error) => error)
      const seen = new Set<number>()
      const observed = subscription.until(() => seen.add(subscription.position()).size === 2)
      const { position } = await appendSmall(Math.floor(limit / (bytes / 20_000)))
      await observed
      await subscription.close()
      expect([...seen]).to.deep.equal([0, position])
    })

    it('is told from the next one', async () => {
      const appendMany = (stream: string, count: number, expectedRevision: number, metadata: EventMetadata) =>
        append(stream, createdFrom(1, count), expectedRevision, metadata)
      const [first, second] = ['1', '2'].map((digit) => metadataOf(`2026-01-01T00:00:00.00000${digit}Z`))
      if (!first || !second) throw new Error('unreachable')
      await appendMany('rules-1', 3, -1, first)
      await appendMany('rules-1', 2, 2, second)
      // The same time, in another stream.
      await appendMany('rules-2', 1, -1, second)
      // A longer text of metadata that ends alike.
      await appendMany('rules-2', 2, 0, { ...second, actor: { ...SYSTEM_ACTOR, name: 'the system' } })
      await appendMany('rules-2', 1, 2, second)

      const abort = new AbortController()
      const events: RecordedEvent[] = []
      for await (const item of log.subscribe(0, abort.signal)) {
        if (item === 'caught-up') abort.abort()
        else events.push(item)
      }
      expect(events.map(isContinued)).to.deep.equal([
        true,
        true,
        false,
        true,
        false,
        false,
        true,
        false,
        false,
      ])
    })
  })
}
