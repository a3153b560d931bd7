import { expect } from 'chai'
import { decodeEvent } from '../../../projections/events/registry.ts'
import { createRulesProjection, type Rules } from '../../../projections/rules.ts'
import { buildHistory, recordAll } from '../../support/histories.ts'

const USERS = 3

/** With few turns, all events of a user stay pending; with many, they exceed the limit and are folded. */
const [SHORT, LONG] = [4, 250]

describe('the rules projection', () => {
  for (const turns of [SHORT, LONG]) {
    describe(`after ${turns} turns`, () => {
      const records = recordAll(buildHistory(USERS, turns))

      it('returns the same rules whether it is queried after every event or only at the end', () => {
        const [queried, unqueried] = [createRulesProjection(), createRulesProjection()]
        for (const record of records) {
          apply(queried, record)
          for (let userId = 1; userId <= USERS; userId++) queried.of(userId)
          apply(unqueried, record)
        }

        expect(unqueried.of(0).routing).to.deep.equal([])
        for (let userId = 1; userId <= USERS; userId++) {
          expect(unqueried.of(userId)).to.deep.equal(queried.of(userId))
          expect(unqueried.revision(userId)).to.equal(queried.revision(userId))
        }
      })

      it('saves the same lines however it was queried, and loads them', () => {
        const [queried, unqueried, loaded] = [
          createRulesProjection(),
          createRulesProjection(),
          createRulesProjection(),
        ]
        for (const record of records) {
          apply(queried, record)
          queried.of(1 + (record.position % USERS))
          apply(unqueried, record)
        }
        loaded.load(linesOf(unqueried).map((line) => Buffer.from(line)))

        expect(linesOf(unqueried)).to.deep.equal(linesOf(queried))
        expect(linesOf(loaded)).to.deep.equal(linesOf(queried))
        expect(loaded.of(3)).to.deep.equal(queried.of(3))
        expect(loaded.revision(3)).to.equal(queried.revision(3))
      })

      it('continues from a loaded state', () => {
        const [whole, first, second] = [
          createRulesProjection(),
          createRulesProjection(),
          createRulesProjection(),
        ]
        const half = Math.floor(records.length / 2)
        for (const record of records) apply(whole, record)
        for (const record of records.slice(0, half)) apply(first, record)
        second.load(linesOf(first).map((line) => Buffer.from(line)))
        for (const record of records.slice(half)) apply(second, record)

        expect(linesOf(second)).to.deep.equal(linesOf(whole))
      })

      it('saves a consistent state while events are applied during iteration', () => {
        const rules = createRulesProjection()
        const half = Math.floor(records.length / 2)
        for (const record of records.slice(0, half)) apply(rules, record)
        rules.of(1)
        const expected = linesOf(rules)
        const later = records.slice(half)

        const lines: string[] = []
        for (const line of rules.save()) {
          lines.push(String(line))
          for (const record of later.splice(0, Math.ceil(later.length / 10))) apply(rules, record)
          rules.of(lines.length)
        }

        expect(lines).to.deep.equal(expected)
        expect(linesOf(rules)).not.to.deep.equal(expected)
      })
    })
  }

  it('does not modify a rule set that it returned', () => {
    const rules = createRulesProjection()
    const records = recordAll(buildHistory(1, 2)).filter(({ stream }) => stream === 'rules-1')
    for (const record of records.slice(0, -1)) apply(rules, record)
    const before = rules.of(1)
    const text = JSON.stringify(before)
    apply(rules, records.at(-1)!)

    expect(JSON.stringify(before)).to.equal(text)
    expect(rules.of(1)).not.to.equal(before)
  })
})

function apply(rules: Rules, record: ReturnType<typeof recordAll>[number]): void {
  const event = decodeEvent(record)
  if (event) rules.apply(event, record)
}

function linesOf(rules: Rules): string[] {
  return [...rules.save()].map(String)
}
