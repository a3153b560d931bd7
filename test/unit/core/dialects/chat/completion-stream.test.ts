import { expect } from 'chai'
import {
  type Exchange,
  GatewayError,
  type JsonObject,
  type ReplyEvent,
} from '../../../../../core/contract/index.ts'
import { streamChatChunks } from '../../../../../core/dialects/chat/completion-stream.ts'
import { staying } from '../../../../support/presence.ts'

const ADDRESS = { provider: 'acme', x_request_id: 'req_1' }

/** The records that a client gets for these events; a `GatewayError` among them is the provider's failure. */
async function write(events: readonly (ReplyEvent | GatewayError)[], include_usage?: boolean) {
  async function* batches() {
    for (const event of events) {
      if (GatewayError.isInstance(event)) throw event
      yield [event]
    }
  }
  // Only these fields are looked at.
  const exchange = {
    id: 'req_0',
    request: { messages: [], ...(include_usage !== undefined && { stream_options: { include_usage } }) },
    reply: { type: 'stream', batches: batches() },
    decoration: { headers: {}, first: ADDRESS, last: () => ({ ...ADDRESS, latency_ms: 5 }) },
    client: staying,
  } as unknown as Exchange
  let text = ''
  for await (const part of streamChatChunks(exchange)) text += part
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((record) => record.replace(/^data: /, ''))
    .map((data) => (data === '[DONE]' ? data : JSON.parse(data)))
}

const usage = { input: 12, output: 5 }
const toldAs = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 }

/** A provider whose format is another. */
const converted: ReplyEvent[] = [
  { parts: [{ type: 'start', id: 'x', model: 'loco' }] },
  { parts: [{ type: 'text', text: 'Track 9.' }] },
  {
    parts: [
      { type: 'finish', reason: 'stop' },
      { type: 'usage', usage },
    ],
  },
]

const chunk = (delta: JsonObject, finish: string | null, more: JsonObject = {}): ReplyEvent => ({
  parts: finish ? [{ type: 'finish', reason: 'stop' }] : [],
  native: {
    id: 'x',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  },
})

const usageOnly: ReplyEvent = {
  parts: [{ type: 'usage', usage }],
  native: { id: 'x', object: 'chat.completion.chunk', choices: [], usage: toldAs },
}

/** Providers of the same format, by where they tell the usage. */
const native = {
  'in a chunk of its own': [
    chunk({ content: 'Hi' }, null, { usage: null }),
    chunk({}, 'stop', { usage: null }),
    usageOnly,
  ],
  'with the finish': [chunk({ content: 'Hi' }, null), chunk({}, 'stop', { usage: toldAs })],
  'with the finish and once more': [
    chunk({ content: 'Hi' }, null),
    chunk({}, 'stop', { usage: { ...toldAs, completion_tokens: 4 } }),
    usageOnly,
  ],
  'on every chunk, as it grows': [
    chunk({ content: 'Hi' }, null, { usage: { ...toldAs, completion_tokens: 1 } }),
    chunk({}, 'stop', { usage: toldAs }),
  ],
}

describe('writing a stream of chat completion chunks', () => {
  it('goes from the role over the text to the finish and [DONE]', async () => {
    const records = await write(converted)
    expect(records.map((record) => record.choices?.[0].delta ?? record)).to.deep.equal([
      { role: 'assistant', content: '' },
      { content: 'Track 9.' },
      {},
      '[DONE]',
    ])
    expect(
      new Set(records.slice(0, -1).map(({ id, created, model }) => `${id} ${created} ${model}`)).size,
    ).to.equal(1)
  })

  it('says on the first and the last record where the answer comes from, on the last how long it took', async () => {
    for (const include of [false, true]) {
      const records = await write(converted, include)
      expect(records[0]).to.include(ADDRESS).and.not.have.property('latency_ms')
      expect(records[1]).to.not.have.property('provider')
      expect(records.at(-2)).to.include({ ...ADDRESS, latency_ms: 5 })
    }
  })

  for (const [where, events] of Object.entries({ 'by the parts of another format': converted, ...native })) {
    describe(`when the provider tells the usage ${where} (13.28)`, () => {
      it('gives none unless the client asked', async () => {
        for (const asked of [undefined, false]) {
          const records = await write(events, asked)
          for (const record of records.slice(0, -1)) {
            expect(record).to.not.have.property('usage')
            expect(record.choices).to.have.length(1)
          }
        }
      })

      it('gives it once, with no choices, before [DONE], when the client asked', async () => {
        const records = await write(events, true)
        expect(records.at(-1)).to.equal('[DONE]')
        expect(records.at(-2)).to.deep.include({ choices: [] })
        expect(records.at(-2).usage).to.include(toldAs)
        for (const record of records.slice(0, -2)) {
          expect(record.usage ?? null).to.equal(null)
          expect(record.choices).to.have.length(1)
        }
      })
    })
  }

  it('ends in one error record and no [DONE] when the provider fails on the way (13.27)', async () => {
    const records = await write([
      ...converted.slice(0, 2),
      new GatewayError('provider_error', 'The provider stopped before the end of its reply.'),
    ])
    expect(records).to.have.length(3)
    expect(records.at(-1).error).to.include({ code: 'provider_error', http_status: 502 })
  })

  it('gives the finish, and then the error, when the provider fails after it', async () => {
    const records = await write([...converted, new GatewayError('provider_unreachable', 'It is gone.')], true)
    expect(records.at(-2).choices[0].finish_reason).to.equal('stop')
    expect(records.at(-1).error.code).to.equal('provider_unreachable')
  })
})
