import { expect } from 'chai'
import type { ReplyPart } from '../../../../core/contract/chat.ts'
import { gemini } from '../../../../providers/gemini/adapter.ts'
import { errorOf } from './calls.ts'
import type { SdkResponse } from './sdk-types.ts'

type Candidate = NonNullable<SdkResponse['candidates']>[number]

const response = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Track 9.' }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: {
    promptTokenCount: 12,
    candidatesTokenCount: 5,
    totalTokenCount: 17,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 12 }],
  },
  modelVersion: 'gemini-4-argon',
  responseId: 'r1-_x',
} satisfies SdkResponse

describe('parsing a reply of Gemini', () => {
  it('returns the parts in order', () => {
    expect(gemini.parseReply(response)).to.deep.equal({
      parts: [
        { type: 'start', id: 'r1-_x', model: 'gemini-4-argon' },
        { type: 'text', text: 'Track 9.' },
        { type: 'finish', reason: 'stop' },
        { type: 'usage', usage: { input: 12, output: 5 } },
      ],
    })
  })

  it('separates thoughts from the text', () => {
    const parts = [
      { text: 'Eight is taken.', thought: true },
      { text: 'Nine.', thoughtSignature: 'c2ln' },
    ]
    expect(saidBy({ content: { parts } })).to.deep.equal([
      { type: 'reasoning', text: 'Eight is taken.' },
      { type: 'text', text: 'Nine.' },
    ])
  })

  it('counts the tokens of thoughts, cached tokens and tool prompts', () => {
    const usageMetadata = {
      promptTokenCount: 10,
      toolUsePromptTokenCount: 3,
      cachedContentTokenCount: 8,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 7,
      totalTokenCount: 25,
    } satisfies SdkResponse['usageMetadata']
    expect(gemini.parseReply({ ...response, usageMetadata }).parts.at(-1)).to.deep.equal({
      type: 'usage',
      usage: { input: 13, output: 12, cached: 8, reasoning: 7 },
    })
  })

  it('returns no usage if there is none', () => {
    const { usageMetadata, ...bare } = response
    expect(gemini.parseReply(bare).parts.at(-1)?.type).to.equal('finish')
  })

  describe('tool calls', () => {
    it('are returned with their ids, arguments and the signature of the first', () => {
      const parts = [
        {
          functionCall: { id: 'a1', name: 'get_weather', args: { city: 'Bern' } },
          thoughtSignature: 'c2ln',
        },
        { functionCall: { id: 'a2', name: 'ring' } },
      ]
      const candidate = { content: { parts }, finishReason: 'STOP' } satisfies Candidate
      const { parts: read } = gemini.parseReply({ ...response, candidates: [candidate] })
      expect(read.slice(1, -1)).to.deep.equal([
        {
          type: 'tool-start',
          index: 0,
          id: 'a1',
          name: 'get_weather',
          extra_content: { google: { thought_signature: 'c2ln' } },
        },
        { type: 'tool-json', index: 0, json: '{"city":"Bern"}' },
        { type: 'tool-start', index: 1, id: 'a2', name: 'ring' },
        { type: 'tool-json', index: 1, json: '{}' },
        { type: 'finish', reason: 'tool_calls' },
      ])
    })

    it('get a unique id if they have none', () => {
      const parts = [{ functionCall: { name: 'ring' } }, { functionCall: { name: 'ring' } }]
      expect(idsOf(saidBy({ content: { parts } }))).to.deep.equal(['call_r1-_x_0', 'call_r1-_x_1'])
    })
  })

  describe('the finish reason', () => {
    for (const [finishReason, reason] of [
      ['STOP', 'stop'],
      ['MAX_TOKENS', 'length'],
      ['CONTINUATION', 'length'],
      ['SAFETY', 'content_filter'],
      ['RECITATION', 'content_filter'],
      ['LANGUAGE', 'content_filter'],
      ['BLOCKLIST', 'content_filter'],
      ['PROHIBITED_CONTENT', 'content_filter'],
      ['SPII', 'content_filter'],
      ['IMAGE_SAFETY', 'content_filter'],
      ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
      ['IMAGE_RECITATION', 'content_filter'],
      ['IMAGE_OTHER', 'content_filter'],
      ['NO_IMAGE', 'content_filter'],
      ['MALFORMED_FUNCTION_CALL', 'stop'],
      ['OTHER', 'stop'],
      ['FINISH_REASON_UNSPECIFIED', 'stop'],
    ] as const) {
      it(`${finishReason} is mapped to ${reason}`, () => {
        const candidate = { content: { parts: [{ text: 'Hi' }] }, finishReason } satisfies Candidate
        expect(finishOf({ ...response, candidates: [candidate] })).to.equal(reason)
      })
    }

    it('is stop if it is unknown', () => {
      expect(
        finishOf({ candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'TIRED' }] }),
      ).to.equal('stop')
    })

    for (const finishReason of [
      'MALFORMED_FUNCTION_CALL',
      'UNEXPECTED_TOOL_CALL',
      'TOO_MANY_TOOL_CALLS',
      'MALFORMED_RESPONSE',
    ] as const) {
      it(`${finishReason} without content is a provider error`, () => {
        const thought = { text: 'Hm.', thought: true }
        const candidate = { content: { parts: [thought] }, finishReason } satisfies Candidate
        const error = errorOf(() => gemini.parseReply({ candidates: [candidate] }))
        expect(error).to.include({ code: 'provider_error', mayFailOver: true })
        expect(error.message).to.contain(finishReason)
      })
    }
  })

  for (const blockReason of ['SAFETY', 'OTHER', 'PROHIBITED_CONTENT', 'JAILBREAK'] as const) {
    it(`returns a refusal for a blocked prompt (${blockReason})`, () => {
      const body = {
        promptFeedback: { blockReason },
        usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
        modelVersion: 'gemini-4-argon',
        responseId: 'r1',
      } satisfies SdkResponse
      expect(gemini.parseReply(body).parts).to.deep.equal([
        { type: 'start', id: 'r1', model: 'gemini-4-argon' },
        { type: 'refusal', text: `blocked: ${blockReason}` },
        { type: 'finish', reason: 'content_filter' },
        { type: 'usage', usage: { input: 4, output: 0 } },
      ])
    })
  }

  for (const content of [undefined, {}, { role: 'model' }, { parts: [] }, { parts: [{ text: '' }] }]) {
    it(`accepts a candidate with the content ${JSON.stringify(content)}`, () => {
      const candidate = { content, finishReason: 'MAX_TOKENS' } satisfies Candidate
      const { parts } = gemini.parseReply({ ...response, candidates: [candidate] })
      expect(parts.map(({ type }) => type)).to.deep.equal(['start', 'finish', 'usage'])
      expect(finishOf({ ...response, candidates: [candidate] })).to.equal('length')
    })
  }

  it('names unknown parts, and ignores further candidates', () => {
    const parts = [{ hologram: { depth: '1' } }, null, 'text', { text: 'Hi' }]
    const candidates = [
      { content: { parts: [{ text: 'other' }] }, finishReason: 'STOP', index: 1 },
      { content: { parts }, finishReason: 'STOP', index: 0 },
    ]
    expect(gemini.parseReply({ ...response, candidates }).parts.slice(1, 3)).to.deep.equal([
      { type: 'unread', name: 'hologram' },
      { type: 'text', text: 'Hi' },
    ])
  })

  for (const body of [
    null,
    'text',
    [],
    {},
    { candidates: [] },
    { promptFeedback: {} },
    { candidates: 'x' },
  ]) {
    it(`rejects ${JSON.stringify(body)}`, () => {
      expect(errorOf(() => gemini.parseReply(body))).to.include({ code: 'provider_error' })
    })
  }

  it('throws for an error in a 200 response', () => {
    const error = { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'slow down' }
    expect(errorOf(() => gemini.parseReply({ error }))).to.include({ code: 'provider_rate_limited' })
  })

  function saidBy(candidate: object): readonly ReplyPart[] {
    const candidates = [{ finishReason: 'STOP', ...candidate }]
    return gemini.parseReply({ ...response, candidates }).parts.slice(1, -2)
  }
})

function idsOf(parts: readonly ReplyPart[]): string[] {
  return parts.flatMap((part) => (part.type === 'tool-start' ? [part.id] : []))
}

function finishOf(body: object): string | undefined {
  return gemini.parseReply(body).parts.find((part) => part.type === 'finish')?.reason
}
