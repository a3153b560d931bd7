import { expect } from 'chai'
import {
  fromFieldValue,
  monthRange,
  parseLength,
  resolveRange,
  shiftRange,
  toFieldValue,
  toWholeHours,
} from '../../../../plugins/console/app/lib/time-range.ts'

const NOW = Date.parse('2026-03-10T14:32:10.500Z')

describe('the range of time of the console', () => {
  for (const [from, to, since, until] of [
    ['15m', undefined, '2026-03-10T14:18:00Z', undefined],
    ['1h', undefined, '2026-03-10T13:33:00Z', undefined],
    ['6h', undefined, '2026-03-10T08:33:00Z', undefined],
    ['24h', undefined, '2026-03-09T15:00:00Z', undefined],
    ['7d', undefined, '2026-03-03T15:00:00Z', undefined],
    ['30d', undefined, '2026-02-09T00:00:00Z', undefined],
    ['2026-03-10T09:01:20Z', '2026-03-10T11:02:10Z', '2026-03-10T09:01:00Z', '2026-03-10T11:03:00Z'],
    ['2026-03-01T09:10:00Z', '2026-03-02T11:20:00Z', '2026-03-01T09:00:00Z', '2026-03-02T12:00:00Z'],
    ['2026-03-10T12:00:00Z', undefined, '2026-03-10T12:00:00Z', undefined],
    // What is no range, or one that ends before it begins, is the default one.
    [undefined, undefined, '2026-03-09T15:00:00Z', undefined],
    ['soon', undefined, '2026-03-09T15:00:00Z', undefined],
    ['0h', undefined, '2026-03-09T15:00:00Z', undefined],
    ['2026-03-10T12:00:00Z', '2026-03-10T11:00:00Z', '2026-03-09T15:00:00Z', undefined],
    ['2027-03-10T12:00:00Z', undefined, '2026-03-09T15:00:00Z', undefined],
  ] as const)
    it(`from ${from} to ${to} is ${since} to ${until ?? 'now'}`, () => {
      expect(resolveRange({ from, to }, true, NOW)).to.deep.equal({ since, ...(until && { until }) })
    })

  it('is a range that it has made itself again', () => {
    for (const [from, until] of [
      ['1h', '2026-03-10T14:33:00Z'],
      ['6h', '2026-03-10T14:33:00Z'],
      ['24h', '2026-03-10T15:00:00Z'],
      ['30d', '2026-03-10T15:00:00Z'],
    ] as const) {
      const range = { since: resolveRange({ from }, true, NOW).since, until }
      expect(resolveRange({ from: range.since, to: until }, true, NOW), from).to.deep.equal(range)
    }
    const nearlySix = { from: '2026-03-10T09:00:50Z', to: '2026-03-10T15:00:20Z' }
    const { since, until } = resolveRange(nearlySix, true, NOW)
    expect(resolveRange({ from: since, to: until }, true, NOW)).to.deep.equal({ since, until })
  })

  it('moves by its own length, and not after now', () => {
    const range = { since: '2026-03-09T00:00:00Z', until: '2026-03-10T00:00:00Z' }
    expect(shiftRange(range, -1, NOW)).to.deep.equal({
      from: '2026-03-08T00:00:00Z',
      to: '2026-03-09T00:00:00Z',
    })
    expect(shiftRange(range, 1, NOW)).to.deep.equal({
      from: '2026-03-10T00:00:00Z',
      to: '2026-03-11T00:00:00Z',
    })
    expect(shiftRange(resolveRange({ from: '24h' }, true, NOW), 1, NOW)).to.equal(undefined)
  })

  it('is the month that has begun, or the one before it', () => {
    expect(monthRange(0, true, NOW)).to.deep.equal({ from: '2026-03-01T00:00:00Z' })
    expect(monthRange(1, true, Date.parse('2026-01-31T23:59:00Z'))).to.deep.equal({
      from: '2025-12-01T00:00:00Z',
      to: '2026-01-01T00:00:00Z',
    })
    const { from = '', to = '' } = monthRange(1, false, NOW)
    expect([from, to].map((time) => new Date(time ?? '').getDate())).to.deep.equal([1, 1])
  })

  it('is of usage the whole hours around it', () => {
    expect(toWholeHours(resolveRange({ from: '1h' }, true, NOW), NOW)).to.deep.equal({
      since: Date.parse('2026-03-10T13:00:00Z'),
      until: Date.parse('2026-03-10T15:00:00Z'),
    })
    expect(toWholeHours(resolveRange({ from: '24h' }, true, NOW), NOW)).to.equal(undefined)
  })

  it('is written in fields in the zone of the page', () => {
    for (const isUtc of [true, false])
      expect(fromFieldValue(toFieldValue('2026-03-10T09:30:00Z', isUtc), isUtc)).to.equal(
        '2026-03-10T09:30:00Z',
      )
    expect(toFieldValue('2026-03-10T09:30:00Z', true)).to.equal('2026-03-10T09:30')
    expect(fromFieldValue('', true)).to.equal(undefined)
  })

  it('is a length of minutes, hours or days', () => {
    expect(['90m', '36h', '2d', '', 'h', '1w', '-1h', '1.5h'].map(parseLength)).to.deep.equal([
      ...[5_400_000, 129_600_000, 172_800_000],
      ...[undefined, undefined, undefined, undefined, undefined],
    ])
  })
})
