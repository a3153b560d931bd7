import { expect } from 'chai'
import type { ReplyPart } from '../../../../core/contract/chat.ts'
import { gemini } from '../../../../providers/gemini/adapter.ts'
import { createSseReader } from '../../../../providers/shared/sse.ts'
import { CUTS, cutBytes } from '../../../support/cut-bytes.ts'
import { errorOf } from './calls.ts'
import type { SdkResponse } from './sdk-types.ts'

type Part = NonNullable<
  NonNullable<NonNullable<SdkResponse['candidates']>[number]['content']>['parts']
>[number]
type FinishReason = NonNullable<NonNullable<SdkResponse['candidates']>[number]['finishReason']>

describe('reading a stream of Gemini', () => {
  const text = [
    fragment([{ text: 'Gleis ist ', thought: true }]),
    fragment([{ text: 'Gleis ' }], undefined, { promptTokenCount: 12, totalTokenCount: 12 }),
    fragment([{ text: '9¾ 🚂' }]),
    fragment([{ text: '', thoughtSignature: 'c2ln' }], 'STOP', {
      promptTokenCount: 12,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 3,
      totalTokenCount: 20,
    }),
  ]

  for (const newline of ['\n', '\r\n']) {
    for (const cut of CUTS) {
      it(`returns the parts in order, split every ${cut} bytes (${JSON.stringify(newline)})`, () => {
        expect(readBytes(record(text, newline), cut)).to.deep.equal([
          { type: 'start', id: 'r1', model: 'gemini-4-argon' },
          { type: 'reasoning', text: 'Gleis ist ' },
          { type: 'text', text: 'Gleis ' },
          // The first usage, for streams that end early.
          { type: 'usage', usage: { input: 12, output: 0 } },
          { type: 'text', text: '9¾ 🚂' },
          { type: 'finish', reason: 'stop' },
          { type: 'usage', usage: { input: 12, output: 8, reasoning: 3 } },
        ])
      })
    }
  }

  it('finishes with tool_calls if the call and STOP are in different fragments', () => {
    const parts = read(
      fragment([
        { functionCall: { id: 'a1', name: 'ring', args: { bell: '🔔' } }, thoughtSignature: 'c2ln' },
      ]),
      fragment([{ text: '' }], 'STOP'),
    )
    expect(parts.slice(1)).to.deep.equal([
      {
        type: 'tool-start',
        index: 0,
        id: 'a1',
        name: 'ring',
        extra_content: { google: { thought_signature: 'c2ln' } },
      },
      { type: 'tool-json', index: 0, json: '{"bell":"🔔"}' },
      { type: 'finish', reason: 'tool_calls' },
    ])
  })

  it('numbers parallel calls across fragments, and generates ids', () => {
    const parts = read(
      fragment([{ functionCall: { name: 'ring' } }, { functionCall: { name: 'wave' } }]),
      fragment([{ functionCall: { name: 'ring' } }], 'STOP'),
    )
    expect(
      parts.flatMap((part) => (part.type === 'tool-start' ? [[part.index, part.id]] : [])),
    ).to.deep.equal([
      [0, 'call_r1_0'],
      [1, 'call_r1_1'],
      [2, 'call_r1_2'],
    ])
  })

  it('returns the first usage and the last one', () => {
    const parts = read(
      fragment([{ text: 'a' }], undefined, { promptTokenCount: 5, candidatesTokenCount: 1 }),
      fragment([{ text: 'b' }], 'MAX_TOKENS', { promptTokenCount: 5, candidatesTokenCount: 2 }),
    )
    expect(parts.filter(({ type }) => type === 'usage')).to.deep.equal([
      { type: 'usage', usage: { input: 5, output: 1 } },
      { type: 'usage', usage: { input: 5, output: 2 } },
    ])
    expect(parts.at(-2)).to.deep.equal({ type: 'finish', reason: 'length' })
  })

  it('accepts usage after the finish, without a candidate', () => {
    const { candidates, ...bare } = fragment([], undefined, { promptTokenCount: 5 })
    expect(read(fragment([{ text: 'a' }], 'STOP'), bare).at(-1)).to.deep.equal({
      type: 'usage',
      usage: { input: 5, output: 0 },
    })
  })

  it('returns a refusal for a blocked prompt', () => {
    const parts = read({ promptFeedback: { blockReason: 'SAFETY' }, responseId: 'r1', modelVersion: 'm' })
    expect(parts).to.deep.equal([
      { type: 'start', id: 'r1', model: 'm' },
      { type: 'refusal', text: 'blocked: SAFETY' },
      { type: 'finish', reason: 'content_filter' },
    ])
  })

  it('accepts fragments without content', () => {
    const bare: SdkResponse = {
      candidates: [{ finishReason: 'SAFETY' }],
      responseId: 'r1',
      modelVersion: 'm',
    }
    expect(read(bare).map(({ type }) => type)).to.deep.equal(['start', 'finish'])
  })

  it('throws if the model failed before any content', () => {
    const first = fragment([], 'MALFORMED_FUNCTION_CALL')
    expect(errorOf(() => gemini.createStreamReader().read(sse(first)))).to.include({ code: 'provider_error' })
  })

  it('finishes with stop if the model failed after some content', () => {
    const parts = read(fragment([{ text: 'Hi' }]), fragment([], 'MALFORMED_FUNCTION_CALL'))
    expect(parts.at(-1)).to.deep.equal({ type: 'finish', reason: 'stop' })
  })

  it('throws if the stream ends before the finish', () => {
    for (const bytes of ['', ': ping\n\n', record([fragment([{ text: 'Hi' }])])]) {
      const error = errorOf(() => readBytes(bytes))
      expect(error.code).to.equal('provider_error')
      expect(error.message).to.contain('ended before it was complete')
    }
  })

  for (const data of ['{"candidates":[', 'null', '[]', '42', '<html>']) {
    it(`throws for the record ${data}`, () => {
      const error = errorOf(() => gemini.createStreamReader().read({ event: '', data }))
      expect(error.code).to.equal('provider_error')
      expect(error.message).to.contain('malformed')
    })
  }

  for (const [error, code] of [
    [{ code: 429, status: 'RESOURCE_EXHAUSTED', message: 'Too fast' }, 'provider_rate_limited'],
    [{ code: 503, status: 'UNAVAILABLE', message: 'Overloaded' }, 'provider_overloaded'],
    [{ status: 'DEADLINE_EXCEEDED' }, 'provider_timeout'],
    [{ status: 'INVALID_ARGUMENT', message: 'No' }, 'provider_refused'],
    [{ status: 'PERMISSION_DENIED' }, 'provider_authentication_error'],
    [{ code: 0, message: 'Oops' }, 'provider_error'],
    ['Oops', 'provider_error'],
  ] as const) {
    it(`throws ${code} for the error record ${JSON.stringify(error)}`, () => {
      expect(errorOf(() => gemini.createStreamReader().read(sse({ error })))).to.include({ code })
    })
  }
})

function fragment(
  parts: readonly Part[],
  finishReason?: FinishReason,
  usageMetadata?: SdkResponse['usageMetadata'],
): SdkResponse {
  return {
    candidates: [{ content: { role: 'model', parts }, finishReason, index: 0 }],
    usageMetadata,
    modelVersion: 'gemini-4-argon',
    responseId: 'r1',
  }
}

function record(fragments: readonly object[], newline = '\n'): string {
  return fragments.map((each) => `data: ${JSON.stringify(each)}${newline}${newline}`).join('')
}

function sse(value: unknown) {
  return { event: '', data: JSON.stringify(value) }
}

function read(...fragments: SdkResponse[]): ReplyPart[] {
  return readBytes(record(fragments))
}

function readBytes(text: string, cut = 1000): ReplyPart[] {
  const bytes = createSseReader()
  const stream = gemini.createStreamReader()
  const records = [...cutBytes(text, cut).flatMap((piece) => bytes.feed(piece)), ...bytes.end()]
  const events = [...records.flatMap((each) => stream.read(each)), ...stream.end()]
  return events.flatMap(({ parts }) => parts)
}
