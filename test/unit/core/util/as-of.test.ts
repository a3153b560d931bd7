import { expect } from 'chai'
import { parseAsOf } from '../../../../core/util/as-of.ts'

describe('parseAsOf', () => {
  it('parses a whole number as a position', () => {
    expect(parseAsOf('12', 'as_of')).to.deep.equal({ type: 'position', position: 12, param: 'as_of' })
    expect(parseAsOf(0, 'as_of')).to.deep.equal({ type: 'position', position: 0, param: 'as_of' })
  })

  for (const [text, time] of [
    ['2026-03-01T09:30:00Z', '2026-03-01T09:30:00.000000Z'],
    ['2026-03-01T09:30:00.123456Z', '2026-03-01T09:30:00.123456Z'],
    ['2026-03-01T09:30:00.1Z', '2026-03-01T09:30:00.100000Z'],
    ['2026-03-01T09:30:00.123456789Z', '2026-03-01T09:30:00.123456Z'],
    ['2026-03-01T00:30:00.5+02:00', '2026-02-28T22:30:00.500000Z'],
    ['2026-03-01t09:30z', '2026-03-01T09:30:00.000000Z'],
    ['2026-03-01', '2026-03-01T00:00:00.000000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000000Z'],
  ] as const) {
    it(`parses ${text} to the format of event times`, () => {
      expect(parseAsOf(text, 'as_of')).to.deep.equal({ type: 'time', time, param: 'as_of' })
    })
  }

  for (const value of [
    '',
    'now',
    '-1',
    '1.5',
    '1e3',
    '9'.repeat(16),
    '2026-02-29',
    '2026-00-10',
    '2026-13-01',
    '2026-01-00',
    '2026-03-01T24:00:00Z',
    '2026-03-01T09:60:00Z',
    '2026-03-01T09:30:00',
    '2026-03-01 09:30:00Z',
    ['1', '2'],
    null,
    1.5,
  ]) {
    it(`rejects ${JSON.stringify(value)} and names the parameter`, () => {
      expect(() => parseAsOf(value, 'since'))
        .to.throw(/^since must be/)
        .with.nested.property('details.param', 'since')
    })
  }
})
