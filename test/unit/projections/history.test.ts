import { expect } from 'chai'
import type { EventLog, RecordedEvent } from '../../../core/contract/index.ts'
import { parseAsOf } from '../../../core/util/as-of.ts'
import { createHistory, eventsUpTo, foldUser } from '../../../projections/history.ts'
import type { PastEvent } from '../../../projections/past-events.ts'
import {
  created,
  deleted,
  keyIssued,
  minute,
  pastEvents,
  planChanged,
  updated,
  userCreated,
} from '../../support/past-events.ts'

const asOf = (value: string | number) => parseAsOf(value, 'as_of')
const positions = (events: readonly PastEvent[]) => events.map(({ record }) => record.position)

describe('history', () => {
  describe('eventsUpTo', () => {
    const events = pastEvents(userCreated, created(5), updated(5, { priority: 1 }))
    const LATER = Date.parse('2027-01-01')

    for (const [value, expected] of [
      [0, []],
      [9, []],
      [10, [10]],
      [25, [10, 20]],
      [30, [10, 20, 30]],
      [minute(2), [10, 20]],
      ['2026-11-20T10:01:59.999999Z', [10]],
      ['2026-11-20', []],
      ['2026-11-21', [10, 20, 30]],
    ] as const) {
      it(`returns positions [${expected.join(', ')}] for ${value}`, () => {
        expect(positions(eventsUpTo(events, asOf(value), LATER))).to.deep.equal(expected)
      })
    }

    it('leaves no gap if the clocks of two nodes differ', () => {
      const [first, second, third] = events.map(({ record }) => record)
      const skewed = [
        first,
        { ...second, metadata: third?.metadata },
        { ...third, metadata: second?.metadata },
      ]
      const past = skewed.map((record) => ({ event: undefined, record: record as RecordedEvent }))
      expect(positions(eventsUpTo(past, asOf(minute(2)), LATER))).to.deep.equal([10, 20, 30])
    })
  })

  describe('eventsUpTo, after the clock was set back', () => {
    const events = pastEvents(userCreated, created(5), updated(5, { priority: 1 }))
    /** The clock shows this time, although the second and the third event have later ones. */
    const NOW = Date.parse('2026-11-20T10:01:30Z')
    const at = (value: string) => positions(eventsUpTo(events, asOf(value), NOW))

    it('includes events with later times as of now', () => {
      expect(at('2026-11-20T10:01:30Z')).to.deep.equal([10, 20, 30])
      expect(at('2026-11-20T10:01:29.5Z')).to.deep.equal([10, 20, 30])
    })

    it('does not include them as of earlier times', () => {
      expect(at('2026-11-20T10:01:10Z')).to.deep.equal([10])
    })

    it('includes them as of their own times', () => {
      expect(at(minute(2))).to.deep.equal([10, 20])
    })

    it('does not include them before an event that is not in the future', () => {
      const [first, second, third] = events.map(({ record }) => record)
      const recent = { ...third?.metadata, time: '2026-11-20T10:01:29.900000Z' }
      const records = [first, second, { ...third, metadata: recent }]
      const past = records.map((record) => ({ event: undefined, record: record as RecordedEvent }))
      expect(positions(eventsUpTo(past, asOf('2026-11-20T10:01:29.8Z'), NOW))).to.deep.equal([10])
    })
  })

  describe('foldUser', () => {
    it('folds the user and the rules', async () => {
      const { user, rules } = await foldUser(
        1,
        pastEvents(
          userCreated,
          created(5),
          created(6),
          updated(5, { priority: 9 }),
          planChanged('free'),
          deleted(6),
        ),
      )
      expect(user).to.include({ plan: 'free', position: 50 })
      expect([...rules.routing.keys()]).to.deep.equal([5])
      expect(rules.routing.get(5)).to.include({ priority: 9, revision: 2, updated_at: minute(4) })
      expect(rules.position).to.equal(60)
    })

    it('skips events of newer versions', async () => {
      const [first, unknown] = pastEvents(created(5), created(6))
      const events = [first, { ...unknown, event: undefined }] as PastEvent[]
      expect([...(await foldUser(1, events)).rules.routing.keys()]).to.deep.equal([5])
    })

    it('continues the revisions of a rule that was deleted and restored', async () => {
      const restored = created(5)
      Object.assign(restored.data, { revertedTo: 1, revision: 3, createdAt: minute(1) })
      const events = pastEvents(created(5), deleted(5), restored, updated(5, { priority: 1 }))
      const { rules } = await foldUser(1, events)
      expect(rules.routing.get(5)).to.include({ revision: 4, created_at: minute(1), updated_at: minute(4) })
    })
  })

  describe('eventsOf', () => {
    const NOW = Date.parse('2026-11-20T10:03:30Z')
    const events = pastEvents(userCreated, created(5), keyIssued('key_a'), updated(5, { priority: 1 }))

    function createHistoryAt(position: number) {
      const log = {
        async *read(stream: string) {
          for (const { record } of events) if (record.stream === stream) yield record
        },
      }
      // Only `read` is called.
      return createHistory(log as unknown as EventLog, { position: () => position }, () => NOW)
    }

    it('merges both streams in log order', async () => {
      expect(positions(await createHistoryAt(40).eventsOf(1))).to.deep.equal([10, 20, 30, 40])
    })

    it('rejects positions and times in the future', async () => {
      for (const value of [101, '2026-11-20T10:04:00.000001Z', '2026-11-21']) {
        const rejected = await createHistoryAt(100)
          .eventsOf(1, asOf(value))
          .catch((error) => error)
        expect(rejected.details?.param).to.equal('as_of')
      }
    })

    it('accepts positions and times of logged events even if this node or its clock is behind', async () => {
      for (const value of [40, minute(4)]) {
        expect(await createHistoryAt(10).eventsOf(1, asOf(value))).to.have.length(4)
      }
      expect(await createHistoryAt(100).eventsOf(1, asOf(100))).to.have.length(4)
    })
  })
})
