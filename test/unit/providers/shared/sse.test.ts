import { expect } from 'chai'
import type { SseEvent } from '../../../../core/contract/provider.ts'
import { createSseReader } from '../../../../providers/shared/sse.ts'
import { CUTS, cutBytes } from '../../../support/cut-bytes.ts'

function readAll(text: string, cut = 1000): SseEvent[] {
  const reader = createSseReader()
  return [...cutBytes(text, cut).flatMap((bytes) => reader.feed(bytes)), ...reader.end()]
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
