import { expect } from 'chai'
import { decodeEvent } from '../../../core/events/codec.ts'
import { createRules, type Rules } from '../../../projections/rules.ts'
import { inventHistory, recordAll } from '../../support/histories.ts'

const USERS = 3

/** Users work in turns, so that a history this long leaves each with notes only, and a longer one with a book. */
const [SHORT, LONG] = [4, 250]

describe('the rules projection', () => {
  for (const turns of [SHORT, LONG]) {
    describe(`after ${turns} turns`, () => {
      const records = recordAll(inventHistory(USERS, turns))

      it('gives the same whether it is asked after every event or only at the end', () => {
        const [asked, unasked] = [createRules(), createRules()]
        for (const record of records) {
          apply(asked, record)
          for (let userId = 1; userId <= USERS; userId++) asked.of(userId)
          apply(unasked, record)
        }

        expect(unasked.of(0).routing).to.deep.equal([])
        for (let userId = 1; userId <= USERS; userId++) {
          expect(unasked.of(userId)).to.deep.equal(asked.of(userId))
          expect(unasked.revision(userId)).to.equal(asked.revision(userId))
        }
      })

      it('is saved alike however it was used, and loaded as it was saved', () => {
        const [asked, unasked, loaded] = [createRules(), createRules(), createRules()]
        for (const record of records) {
          apply(asked, record)
          asked.of(1 + (record.position % USERS))
          apply(unasked, record)
        }
        loaded.load(linesOf(unasked).map((line) => Buffer.from(line)))

        expect(linesOf(unasked)).to.deep.equal(linesOf(asked))
        expect(linesOf(loaded)).to.deep.equal(linesOf(asked))
        expect(loaded.of(3)).to.deep.equal(asked.of(3))
        expect(loaded.revision(3)).to.equal(asked.revision(3))
      })

      it('goes on from a loaded state as from its own', () => {
        const [whole, first, second] = [createRules(), createRules(), createRules()]
        const half = Math.floor(records.length / 2)
        for (const record of records) apply(whole, record)
        for (const record of records.slice(0, half)) apply(first, record)
        second.load(linesOf(first).map((line) => Buffer.from(line)))
        for (const record of records.slice(half)) apply(second, record)

        expect(linesOf(second)).to.deep.equal(linesOf(whole))
      })

      it('saves the state of one moment, whatever is applied while the lines are taken', () => {
        const rules = createRules()
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

  it('keeps a rule set that was given out as it was', () => {
    const rules = createRules()
    const records = recordAll(inventHistory(1, 2))
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
