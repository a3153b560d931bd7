import { expect } from 'chai'
import { buildRecordPattern as build } from '../../../../providers/shared/record-pattern.ts'

const buildRecordPattern = (source: string, field: string, padding?: string) =>
  build(source, JSON.parse(source), field, padding)

const chunk = (content: unknown, more: object = {}) =>
  JSON.stringify({ id: 'a', choices: [{ index: 0, delta: { content }, finish_reason: null }], ...more })

describe('the pattern of a record', () => {
  it('reads the text of matching records', () => {
    const pattern = buildRecordPattern(chunk('Hello'), 'content', 'obfuscation')
    for (const text of [
      '',
      ' world',
      '"quoted"',
      'a\\b',
      'line\nline',
      'é ü 漢 😀',
      '\u007f\u0085\u2028',
      '}],"usage":{}',
    ])
      expect(pattern?.read(chunk(text))).to.equal(text)
    expect(pattern?.read(chunk('x').replace('"x"', '"\\u0041\\/"'))).to.equal('A/')
  })

  it('ignores the value of the padding', () => {
    const pattern = buildRecordPattern(chunk('Hello', { obfuscation: 'xyz' }), 'content', 'obfuscation')
    expect(pattern?.read(chunk('you', { obfuscation: '' }))).to.equal('you')
    expect(pattern?.read(chunk('you', { obfuscation: '0123456789' }))).to.equal('you')
    expect(pattern?.read(chunk('you'))).to.equal(undefined)
  })

  const others: Record<string, string> = {
    'another value elsewhere': chunk('Hello').replace('"a"', '"b"'),
    'a finish': chunk('Hello').replace('null', '"stop"'),
    'no string there': chunk(null),
    'a field more': chunk('Hello', { usage: null }),
    'a field less': '{"id":"a"}',
    'a field in the place of the text': chunk('Hello').replace('"Hello"', '"Hello","content":"x"'),
    'another end': `${chunk('Hello')} `,
    'half of it': chunk('Hello').slice(0, -5),
    'no end of the text': chunk('Hello').replace('"Hello"', '"Hello'),
    'a control character in the text': chunk('Hello').replace('Hello', 'Hel\nlo'),
    'an escape that JSON does not know': chunk('Hello').replace('Hello', 'Hel\\xlo'),
    'an escape that is cut off': chunk('Hello').replace('Hello', 'Hello\\u00'),
    'something else': '[DONE]',
  }
  for (const [name, record] of Object.entries(others)) {
    it(`does not read a record with ${name}`, () => {
      expect(buildRecordPattern(chunk('Hi'), 'content', 'obfuscation')?.read(record)).to.equal(undefined)
    })
  }

  it('never reads a record differently than a JSON parser, whatever is changed', () => {
    const original = chunk('Hi "you"\\', { obfuscation: 'ab', created: 12 })
    const pattern = buildRecordPattern(original, 'content', 'obfuscation')
    let repeats = 0
    for (let at = 0; at < original.length; at++) {
      for (const change of ['', '"', '\\', '\\"', ',', '}', ':', '1', '\n', '"content":"', '\\u004']) {
        const record = original.slice(0, at) + change + original.slice(at + 1)
        const text = pattern?.read(record)
        if (text === undefined) continue
        repeats++
        const read = JSON.parse(record)
        expect(read.choices[0].delta.content).to.equal(text)
        const { obfuscation } = read
        expect(read).to.deep.equal(JSON.parse(chunk(text, { obfuscation, created: 12 })))
      }
    }
    expect(repeats).to.be.above(20)
  })

  const unclear: Record<string, string> = {
    'the field comes twice': chunk('Hi', { message: { content: 'x' } }),
    'it comes twice, once with an escape sequence in its name': chunk('Hi', {
      message: { content: 'Hi' },
    }).replace('content', 'conten\\u0074'),
    'its name is the end of another one': chunk('Hi').replace('content', 'a\\"content'),
    'its name is a value, too': chunk('Hi', { kind: 'content' }),
    'there is a space before the value': chunk('Hi').replace('"content":', '"content": '),
    'it is no string': chunk(7),
    'it is not there': '{"id":"a"}',
    'the padding is in front of it': '{"obfuscation":"x","content":"y"}',
  }
  for (const [name, record] of Object.entries(unclear)) {
    it(`is not built if ${name}`, () => {
      expect(buildRecordPattern(record, 'content', 'obfuscation')).to.equal(undefined)
    })
  }
})
