import { StringDecoder } from 'node:string_decoder'
import { expect } from 'chai'
import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import type { SseEvent } from '../../../../core/contract/provider.ts'
import { createSseReader } from '../../../../providers/shared/sse.ts'
import { CUTS, cutBytes } from '../../../support/cut-bytes.ts'
import { inRounds } from '../../../support/property.ts'

function readAll(text: string, cut = 1000): SseEvent[] {
  const reader = createSseReader()
  return [...cutBytes(text, cut).flatMap((bytes) => reader.feed(bytes)), ...reader.end()]
}

/** Decodes pieces of so many bytes. */
function chunksOf(text: string, size: number): readonly string[] {
  const decoder = new StringDecoder('utf8')
  return cutBytes(text, size).map((bytes) => decoder.write(Buffer.from(bytes)))
}

describe('reading server-sent events', () => {
  const records: SseEvent[] = [
    { event: '', data: '{"text":"naïve – 日本語 🚂"}' },
    { event: 'message_stop', data: 'two\nlines' },
    { event: '', data: '[DONE]' },
  ]
  const lines = [
    ': keep-alive',
    '',
    `data: ${records[0]?.data}`,
    '',
    'event: message_stop',
    'data: two',
    'data: lines',
    'id: 7',
    'retry: soon',
    'unknown: field',
    '',
    'data:[DONE]',
    '',
    '',
  ]

  for (const [name, lineEnd] of [
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ] as const) {
    for (const cut of CUTS) {
      it(`reads ${name} framing, split every ${cut} bytes`, () => {
        expect(readAll(lines.join(lineEnd), cut)).to.deep.equal(records)
      })
    }
  }

  it('reads the same as a parser, whatever the lines are and wherever they are cut', () => {
    const pieces = ['data: a', 'data: ', 'data:b', 'data', 'event: x', 'event: ', 'id: 1', ': c', ' ', 'é']
    const ends = ['\n', '\n', '\n', '\n\n', '\n\n', '\r', '\r\n', '']
    const line = fc.tuple(fc.constantFrom(...pieces), fc.constantFrom(...ends)).map((parts) => parts.join(''))
    const text = fc.array(line, { minLength: 1, maxLength: 8 }).map((lines) => lines.join(''))
    const isSame = (text: string, cut: number) => {
      const expected: SseEvent[] = []
      const parser = createParser({ onEvent: ({ event = '', data }) => expected.push({ event, data }) })
      for (const piece of chunksOf(text, cut)) parser.feed(piece)
      parser.feed('\n\n')
      expect(readAll(text, cut)).to.deep.equal(expected)
    }
    fc.assert(fc.property(text, fc.integer({ min: 1, max: 20 }), isSame), inRounds(600))
  })

  it('returns a record as soon as its blank line arrives', () => {
    const reader = createSseReader()
    expect(reader.feed(Buffer.from('data: a\n'))).to.deep.equal([])
    expect(reader.feed(Buffer.from('\ndata: b'))).to.deep.equal([{ event: '', data: 'a' }])
  })

  it('ignores comments', () => {
    expect(readAll(': ping\n\n:\n\n: pong\n\n')).to.deep.equal([])
  })

  it('skips a byte order mark, even if it is split', () => {
    for (const cut of CUTS)
      expect(readAll('\ufeffdata: a\n\n', cut)).to.deep.equal([{ event: '', data: 'a' }])
  })

  it('returns a last record without a blank line', () => {
    expect(readAll('data: a\n\ndata: b')).to.deep.equal([
      { event: '', data: 'a' },
      { event: '', data: 'b' },
    ])
  })

  it('does not carry an event name over to the next record', () => {
    expect(readAll('event: a\ndata: 1\n\ndata: 2\n\n')[1]).to.deep.equal({ event: '', data: '2' })
  })

  it('throws for a record beyond the limit', () => {
    const reader = createSseReader(100)
    reader.feed(Buffer.from(`data: ${'x'.repeat(90)}`))
    expect(() => reader.feed(Buffer.from('x'.repeat(90))))
      .to.throw('more than 100 characters')
      .with.property('code', 'provider_error')
  })

  it('limits a record, not the stream', () => {
    const reader = createSseReader(100)
    for (let n = 0; n < 50; n++)
      expect(reader.feed(Buffer.from(`data: ${'x'.repeat(80)}\n\n`))).to.have.length(1)
  })
})
