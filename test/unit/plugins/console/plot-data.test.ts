import { expect } from 'chai'
import { describeStep, findDots, stackSeries } from '../../../../plugins/console/app/lib/plot-data.ts'
import type { Usage } from '../../../../plugins/console/app/lib/schemas.ts'
import { toUsageSeries, toUsageSteps } from '../../../../plugins/console/app/lib/usage-series.ts'

describe('the data of a chart', () => {
  it('stacks bars, and counts a gap as nothing', () => {
    const series = [
      { name: 'a', tone: '', values: [1, null, 3] },
      { name: 'b', tone: '', values: [10, 20, null] },
    ]
    expect(stackSeries(series)).to.deep.equal([
      [1, 0, 3],
      [11, 20, 3],
    ])
  })

  it('has dots for all values of a sparse series, and for single ones of a dense one', () => {
    expect(findDots([null, 4, 5, null, 6])).to.deep.equal([1, 2, 4])
    const dense = [...Array.from({ length: 30 }, () => 1), null, 7, null]
    expect(findDots(dense)).to.deep.equal([31])
  })

  it('names its steps', () => {
    expect([5000, 60_000, 300_000, 3_600_000, 86_400_000, 604_800_000].map(describeStep)).to.deep.equal([
      ...['per 5 seconds', 'per minute', 'per 5 minutes', 'per hour', 'per day', 'per 7 days'],
    ])
  })
})

describe('the usage over time', () => {
  const usage = (fields: Partial<Usage>) =>
    ({ requests: 1, cost_usd: 0.5, tokens: { input: 2, output: 3 }, ...fields }) as Usage
  const start = Date.parse('2026-03-10T00:00:00Z')
  const steps = toUsageSteps(start, start + 2.5 * 3_600_000)
  const rows = [
    usage({ model: 'a', hour: '2026-03-10T00:00:00Z' }),
    usage({ model: 'a', hour: '2026-03-10T02:00:00Z', requests: 4 }),
    usage({ model: 'b', hour: '2026-03-10T00:00:00Z' }),
    usage({ model: 'c', hour: '2026-03-10T00:00:00Z' }),
  ]
  const options = { groups: [{ key: 'a', name: 'A' }], keyOf: (row: Usage) => String(row.model) }

  it('is by hour, by day or by week', () => {
    expect([steps.dimension, steps.times.length, steps.until - start]).to.deep.equal(['hour', 3, 10_800_000])
    const days = toUsageSteps(start - 3_600_000, start + 29.5 * 86_400_000)
    expect([days.dimension, days.stepMs, days.times.length]).to.deep.equal(['day', 86_400_000, 31])
    expect(days.times[0]).to.equal(Date.parse('2026-03-09T00:00:00Z'))
    expect(toUsageSteps(start - 364 * 86_400_000, start).times).to.have.length(52)
  })

  it('adds up the groups without a series of their own', () => {
    expect(toUsageSeries(rows, steps, { ...options, measure: 'requests', addsUp: true })).to.deep.equal([
      { name: 'A', tone: 'tone-1', values: [1, 0, 4] },
      { name: 'Others', tone: 'tone-others', values: [2, 0, 0] },
    ])
    const all = toUsageSeries(rows, steps, { ...options, groups: [], measure: 'tokens', addsUp: true })
    expect(all).to.deep.equal([{ name: 'All', tone: 'tone-1', values: [15, 0, 5] }])
  })

  it('has gaps, and no others, where groups do not add up', () => {
    expect(toUsageSeries(rows, steps, { ...options, measure: 'cost', addsUp: false })).to.deep.equal([
      { name: 'A', tone: 'tone-1', values: [0.5, null, 0.5] },
    ])
  })
})
