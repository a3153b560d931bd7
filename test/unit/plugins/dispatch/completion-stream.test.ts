import { expect } from 'chai'
import {
  GatewayError,
  type JsonObject,
  type RepliedExchange,
  ReplyEvent,
  type ReplyPart,
} from '../../../../core/contract/index.ts'
import { streamChatChunks } from '../../../../plugins/dispatch/chat/completion-stream.ts'
import { spliceChunk } from '../../../../plugins/dispatch/chat/regular-chunks.ts'
import { staying } from '../../../support/presence.ts'

const ADDRESS = { provider: 'acme', x_request_id: 'req_1' }

/** Returns the records that a client receives. The provider throws a `GatewayError` among the events. */
async function collectRecords(events: readonly (ReplyEvent | GatewayError)[], include_usage?: boolean) {
  async function* batches() {
    for (const event of events) {
      if (GatewayError.isInstance(event)) throw event
      yield [event]
    }
  }
  // The cast is safe: no other fields are read.
  const exchange = {
    id: 'req_0',
    request: { messages: [], ...(include_usage !== undefined && { stream_options: { include_usage } }) },
    reply: { type: 'stream', batches: batches() },
    decoration: { headers: {}, first: () => ADDRESS, last: () => ({ ...ADDRESS, latency_ms: 5 }) },
    client: staying,
  } as unknown as RepliedExchange
  let text = ''
  for await (const part of streamChatChunks(exchange)) text += part
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((record) => record.replace(/^data: /, ''))
    .map((data) => (data === '[DONE]' ? data : JSON.parse(data)))
}

const usage = { input: 12, output: 5 }
const completionUsage = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 }

/** Events of a provider with another format. */
const converted: ReplyEvent[] = [
  new ReplyEvent([{ type: 'start', id: 'x', model: 'loco' }]),
  new ReplyEvent([{ type: 'text', text: 'Track 9.' }]),
  new ReplyEvent([
    { type: 'finish', reason: 'stop' },
    { type: 'usage', usage },
  ]),
]

const chunk = (delta: JsonObject, finish: string | null, more: JsonObject = {}) => {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  const record = { id: 'x', object: 'chat.completion.chunk', choices, ...more }
  const counts = more.usage as { prompt_tokens: number; completion_tokens: number } | null | undefined
  const parts: ReplyPart[] = finish ? [{ type: 'finish', reason: 'stop' }] : []
  if (counts)
    parts.push({ type: 'usage', usage: { input: counts.prompt_tokens, output: counts.completion_tokens } })
  return new ReplyEvent(parts, { record })
}

const usageOnly = new ReplyEvent([{ type: 'usage', usage }], {
  record: { id: 'x', object: 'chat.completion.chunk', choices: [], usage: completionUsage },
})

/** Events of providers with the same format, by the chunk that reports the usage. */
const native = {
  'in a separate chunk': [
    chunk({ content: 'Hi' }, null, { usage: null }),
    chunk({}, 'stop', { usage: null }),
    usageOnly,
  ],
  'with the finish': [chunk({ content: 'Hi' }, null), chunk({}, 'stop', { usage: completionUsage })],
  'with the finish and again after it': [
    chunk({ content: 'Hi' }, null),
    chunk({}, 'stop', { usage: { ...completionUsage, completion_tokens: 4 } }),
    usageOnly,
  ],
  'in every chunk, cumulatively': [
    chunk({ content: 'Hi' }, null, { usage: { ...completionUsage, completion_tokens: 1 } }),
    chunk({}, 'stop', { usage: completionUsage }),
  ],
}

describe('streaming chat completion chunks', () => {
  it('never copies a chunk that has its usage twice', () => {
    const record = { id: 'x', usage: null }
    expect(spliceChunk('{"id":"x","a":1,"usage":null}', record, 'y', false)).to.equal('{"id":"y","a":1}')
    expect(spliceChunk('{"id":"x","usage":7,"usage":null}', record, 'y', false)).to.equal(undefined)
  })

  it('sends the role, the text, the finish and [DONE]', async () => {
    const records = await collectRecords(converted)
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

  it('adds the extension fields to the first and last record, the latency only to the last', async () => {
    for (const include of [false, true]) {
      const records = await collectRecords(converted, include)
      expect(records[0]).to.include(ADDRESS).and.not.have.property('latency_ms')
      expect(records[1]).to.not.have.property('provider')
      expect(records.at(-2)).to.include({ ...ADDRESS, latency_ms: 5 })
    }
  })

  for (const [where, events] of Object.entries({ 'as a part of another format': converted, ...native })) {
    describe(`when the provider reports the usage ${where}`, () => {
      it('sends no usage unless the client requested it', async () => {
        for (const include of [undefined, false]) {
          const records = await collectRecords(events, include)
          for (const record of records.slice(0, -1)) {
            expect(record).to.not.have.property('usage')
            expect(record.choices).to.have.length(1)
          }
        }
      })

      it('sends it once, without choices, before [DONE], if the client requested it', async () => {
        const records = await collectRecords(events, true)
        expect(records.at(-1)).to.equal('[DONE]')
        expect(records.at(-2)).to.deep.include({ choices: [] })
        expect(records.at(-2).usage).to.include(completionUsage)
        for (const record of records.slice(0, -2)) {
          expect(record.usage ?? null).to.equal(null)
          expect(record.choices).to.have.length(1)
        }
      })
    })
  }

  it('ends with one error record and no [DONE] when the provider fails during the stream', async () => {
    const records = await collectRecords([
      ...converted.slice(0, 2),
      new GatewayError('provider_error', 'The provider stopped before the end of its reply.'),
    ])
    expect(records).to.have.length(3)
    expect(records.at(-1).error).to.include({ code: 'provider_error', http_status: 502 })
  })

  it('sends the finish and then the error when the provider fails after the finish', async () => {
    const records = await collectRecords(
      [...converted, new GatewayError('provider_unreachable', 'It is gone.')],
      true,
    )
    expect(records.at(-2).choices[0].finish_reason).to.equal('stop')
    expect(records.at(-1).error.code).to.equal('provider_unreachable')
  })
})
