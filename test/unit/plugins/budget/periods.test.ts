import { expect } from 'chai'
import { periodAt } from '../../../../plugins/budget/periods.ts'

const at = (text: string) => Date.parse(text)

/** Start and end as dates, and the id. */
function period(length: 'day' | 'week' | 'month' | 'total', now: string) {
  const { id, startsAt, endsAt } = periodAt(length, at(now))
  return [id, new Date(startsAt).toISOString(), endsAt && new Date(endsAt).toISOString()]
}

describe('the period of a budget', () => {
  it('is a day, a week from Monday, or a month, in UTC', () => {
    const sunday = '2026-03-01T23:59:59.999Z'
    const midnight = (date: string) => `${date}T00:00:00.000Z`
    expect(period('day', sunday)).to.deep.equal([
      'day-2026-03-01',
      midnight('2026-03-01'),
      midnight('2026-03-02'),
    ])
    expect(period('week', sunday)).to.deep.equal([
      'week-2026-02-23',
      midnight('2026-02-23'),
      midnight('2026-03-02'),
    ])
    expect(period('week', midnight('2026-03-02'))[0]).to.equal('week-2026-03-02')
    expect(period('month', '2026-12-31T12:00:00Z')).to.deep.equal([
      'month-2026-12-01',
      midnight('2026-12-01'),
      midnight('2027-01-01'),
    ])
  })

  it('never ends for a total', () => {
    expect(periodAt('total', at('2026-03-01T00:00:00Z'))).to.deep.equal({
      id: 'total',
      startsAt: 0,
      endsAt: null,
    })
  })
})
