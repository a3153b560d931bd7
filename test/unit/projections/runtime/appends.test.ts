import { expect } from 'chai'
import { pino } from 'pino'
import type { EventLog, EventMetadata, NewEvent, RecordedEvent } from '../../../../core/contract/index.ts'
import { createMemoryLog } from '../../../../core/event-log/memory.ts'
import { openSqliteLog } from '../../../../core/event-log/sqlite/sqlite-log.ts'
import { createRulesProjection } from '../../../../projections/rules.ts'
import { subscribeProjections } from '../../../../projections/runtime/subscribe.ts'
import { makeFolder } from '../../../support/folders.ts'

const LOGS: Readonly<Record<string, () => Promise<EventLog>>> = {
  'the log in memory': async () => createMemoryLog(),
  'the embedded log': async () => openSqliteLog({ directory: await makeFolder(), delivers: 'stored-events' }),
}

/** More events than a page of the embedded log has. */
const MANY = 4500

const metadata = (time: string): EventMetadata => ({ actor: 'system', time, schema: 1 })
const created = (ruleId: number): NewEvent => ({
  type: 'FirewallRuleCreated',
  data: { userId: 1, ruleId, content: { pattern: 'x', priority: 0 } },
})
const createdFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => created(first + index))

for (const [name, open] of Object.entries(LOGS)) {
  describe(`an append to ${name}`, () => {
    let log: EventLog
    beforeEach(async () => {
      log = await open()
    })
    afterEach(() => log.close())

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
      await log.append('rules-1', createdFrom(1, MANY), { expectedRevision: -1, metadata: metadata('a') })
      await subscription.until(() => subscription.position() === MANY)
      observe()
      isDone = true
      await subscription.close()
      expect([...seen]).to.deep.equal(['0 at 0', `${MANY} at ${MANY}`])
    })

    it('is counted as received event by event, as its receivers get it', async () => {
      const subscription = subscribeProjections(log, [], pino({ level: 'silent' }))
      await subscription.caughtUp
      const positions: number[] = []
      subscription.onReceived(({ position }) => {
        positions.push(position)
        expect(subscription.received()).to.equal(positions.length)
      })
      await log.append('rules-1', createdFrom(1, MANY), { expectedRevision: -1, metadata: metadata('a') })
      await subscription.until(() => positions.length === MANY)
      await subscription.close()
      expect(positions).to.deep.equal(Array.from({ length: MANY }, (_, index) => index + 1))
    })

    it('is in force as a whole with as many events as fit into one', async () => {
      const append = (count: number) =>
        log.append('plugin-a-1', Array<NewEvent>(count).fill({ type: 'A', data: {} }), {
          expectedRevision: -1,
          metadata: metadata('2026-01-01T00:00:00.000001Z'),
        })
      const subscription = subscribeProjections(log, [], pino({ level: 'silent' }))
      await subscription.caughtUp
      const { bytes, limit } = await append(20_000).catch((error) => error)
      const count = Math.floor(limit / (bytes / 20_000))
      const seen = new Set<number>()
      const observed = subscription.until(() => seen.add(subscription.position()).has(count))
      await append(count)
      await observed
      await subscription.close()
      expect([...seen]).to.deep.equal([0, count])
    })

    it('is told from the next one', async () => {
      const append = (stream: string, count: number, time: string, expectedRevision: number) =>
        log.append(stream, createdFrom(1, count), { expectedRevision, metadata: metadata(time) })
      await append('rules-1', 3, '2026-01-01T00:00:00.000001Z', -1)
      await append('rules-1', 2, '2026-01-01T00:00:00.000002Z', 2)
      // The same time, in another stream.
      await append('rules-2', 1, '2026-01-01T00:00:00.000002Z', -1)
      // A longer text of metadata that ends alike.
      await append('rules-2', 2, '+2026-01-01T00:00:00.000002Z', 0)
      await append('rules-2', 1, '2026-01-01T00:00:00.000002Z', 2)

      const abort = new AbortController()
      const events: RecordedEvent[] = []
      for await (const item of log.subscribe(0, abort.signal)) {
        if (item === 'caught-up') abort.abort()
        else events.push(item)
      }
      const continued = events.map(({ isContinued = false }) => isContinued)
      expect(continued).to.deep.equal([true, true, false, true, false, false, true, false, false])
    })
  })
}
