import { expect } from 'chai'
import type { EventLog, RecordedEvent } from '../../../core/contract/index.ts'
import { parseAsOf } from '../../../core/util/as-of.ts'
import { createHistory, eventsUpTo, foldUser, type PastEvent } from '../../../projections/history.ts'
import type { Subscription } from '../../../projections/runtime/subscribe.ts'
import {
  created,
  deleted,
  given,
  keyIssued,
  minute,
  planChanged,
  updated,
  userCreated,
} from '../../support/past-events.ts'

const at = (moment: string | number) => parseAsOf(moment, 'as_of')
const positions = (events: readonly PastEvent[]) => events.map(({ record }) => record.position)

describe('the past', () => {
  describe('up to a moment', () => {
    const events = given(userCreated, created(5), updated(5, { priority: 1 }))

    for (const [moment, expected] of [
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
      it(`${moment} there is ${expected.length === 0 ? 'nothing' : expected.join(', ')}`, () => {
        expect(positions(eventsUpTo(events, at(moment)))).to.deep.equal(expected)
      })
    }

    it('leaves no hole where the clocks of two nodes disagree', () => {
      const [first, second, third] = events.map(({ record }) => record)
      const skewed = [
        first,
        { ...second, metadata: third?.metadata },
        { ...third, metadata: second?.metadata },
      ]
      const past = skewed.map((record) => ({ event: undefined, record: record as RecordedEvent }))
      expect(positions(eventsUpTo(past, at(minute(2))))).to.deep.equal([10, 20, 30])
    })
  })

  describe('folded', () => {
    it('is the user and the rules that the events make', () => {
      const { user, rules: book } = foldUser(
        1,
        given(
          userCreated,
          created(5),
          created(6),
          updated(5, { priority: 9 }),
          planChanged('free'),
          deleted(6),
        ),
      )
      expect(user).to.include({ plan: 'free', position: 50 })
      expect([...book.routing.keys()]).to.deep.equal([5])
      expect(book.routing.get(5)).to.include({ priority: 9, revision: 2, updated_at: minute(4) })
      expect(book.position).to.equal(60)
    })

    it('passes over what only a newer node knows', () => {
      const [first, unknown] = given(created(5), created(6))
      const events = [first, { ...unknown, event: undefined }] as PastEvent[]
      expect([...foldUser(1, events).rules.routing.keys()]).to.deep.equal([5])
    })

    it('goes on with a rule that was deleted and brought back', () => {
      const back = created(5)
      Object.assign(back.data, { revertedTo: 1, revision: 3, createdAt: minute(1) })
      const { rules: book } = foldUser(1, given(created(5), deleted(5), back, updated(5, { priority: 1 })))
      expect(book.routing.get(5)).to.include({ revision: 4, created_at: minute(1), updated_at: minute(4) })
    })
  })

  describe('in the log', () => {
    const NOW = Date.parse('2026-11-20T10:03:30Z')
    const events = given(userCreated, created(5), keyIssued('key_a'), updated(5, { priority: 1 }))

    function openPast(seen: number) {
      const log = {
        async *read(stream: string) {
          for (const { record } of events) if (record.stream === stream) yield record
        },
      }
      // Only these are used.
      return createHistory(log as unknown as EventLog, { position: () => seen } as Subscription, () => NOW)
    }

    it('is put in order over both streams', async () => {
      expect(positions(await openPast(40).eventsOf(1))).to.deep.equal([10, 20, 30, 40])
    })

    it('refuses moments that have not come', async () => {
      for (const moment of [101, '2026-11-20T10:04:00.000001Z', '2026-11-21']) {
        const refusal = await openPast(100)
          .eventsOf(1, at(moment))
          .catch((error) => error)
        expect(refusal.details?.param).to.equal('as_of')
      }
    })

    it('knows that what is in the log has come, also when this node or its clock is behind', async () => {
      for (const moment of [40, minute(4)]) {
        expect(await openPast(10).eventsOf(1, at(moment))).to.have.length(4)
      }
      expect(await openPast(100).eventsOf(1, at(100))).to.have.length(4)
    })
  })
})
