import { expect } from 'chai'
import {
  type EndedExchange,
  ReplyEvent,
  type ReplyPart,
  type Usage,
} from '../../../../core/contract/index.ts'
import { TEXT_RUN } from '../../../../core/contract/native-records.ts'
import {
  billedTarget,
  recordUnreadCost,
  StoredReply,
  UsageRecorder,
} from '../../../../core/pipeline/usage-recorder.ts'
import { createChatStreamReader } from '../../../../providers/chat-format/stream.ts'
import { readEvents } from '../../../../providers/shared/frames.ts'
import { createSseReader } from '../../../../providers/shared/sse.ts'

const target = { provider: 'openai', model: 'gpt-4o' }

/** A token costs a dollar; nothing else has a price. */
const costOf = ({ input, output }: Usage, { model }: { model: string }) =>
  model === 'gpt-4o' ? input + output : undefined

/** 40 bytes of input: 10 tokens. */
const request = { messages: [{ role: 'user', content: 'x'.repeat(40) }] } as const

// The cast is safe: nothing else is read.
const exchangeOf = (more: object = {}) =>
  ({ target, request, attempts: [], state: {}, ...more }) as unknown as EndedExchange

const text = (length: number): ReplyPart => ({ type: 'text', text: 'y'.repeat(length) })
const usage = (input: number, output: number): ReplyPart => ({ type: 'usage', usage: { input, output } })
const finish: ReplyPart = { type: 'finish', reason: 'stop' }

/** One event with these texts as one run. */
function readRun(texts: readonly string[]): readonly ReplyEvent[] {
  const toRecord = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`
  const sse = createSseReader()
  const reader = createChatStreamReader()
  const events: ReplyEvent[] = []
  // The first record is parsed, and teaches what the others look like.
  const opening = [toRecord(''), toRecord('a')].join('')
  readEvents(opening + texts.map(toRecord).join(''), sse, reader, events)
  const runs = events.filter((event) => event[TEXT_RUN] !== undefined)
  expect(runs).to.have.length(1)
  return runs
}

function record(exchange: EndedExchange, ...parts: readonly ReplyPart[]): UsageRecorder {
  const recorder = new UsageRecorder(exchange, costOf)
  for (const part of parts) recorder.record(new ReplyEvent([part]))
  return recorder
}

describe('the recorded usage and cost', () => {
  it('of a complete reply are those that the provider reported last', () => {
    const exchange = exchangeOf()
    const recorder = record(exchange, usage(7, 1), text(400), finish, usage(7, 3))
    expect(exchange.costUsd).to.equal(undefined)
    recorder.complete()
    recorder.endEarly()
    expect(exchange).to.deep.include({ usage: { input: 7, output: 3 }, costUsd: 10, finishReason: 'stop' })
  })

  it('of a complete reply without usage are unknown', () => {
    const exchange = exchangeOf()
    record(exchange, text(400), finish).complete()
    expect(exchange.usage).to.equal(undefined)
    expect(exchange.costUsd).to.equal(null)
  })

  it('of a model without a price are known and unknown', () => {
    const exchange = exchangeOf({ target: { provider: 'openai', model: 'my-own' } })
    record(exchange, finish, usage(7, 3)).complete()
    expect(exchange).to.deep.include({ usage: { input: 7, output: 3 }, costUsd: null })
  })

  it('of a reply that ends early are estimated from what was sent', () => {
    const exchange = exchangeOf()
    const tool: ReplyPart = { type: 'tool-start', index: 0, id: 'call_1', name: 'abcd' }
    record(exchange, text(40), tool, { type: 'tool-json', index: 0, json: '{"a":1}1' }).endEarly()
    expect(exchange).to.deep.include({ usage: { input: 15, output: 17, isEstimated: true }, costUsd: 32 })
  })

  it('of a reply that ends early include text records that were not parsed', () => {
    for (const tools of [undefined, [{ type: 'function' }]]) {
      const exchange = exchangeOf({ request: { ...request, ...(tools && { tools }) } })
      const recorder = new UsageRecorder(exchange, costOf)
      for (const event of readRun(['é'.repeat(10), '"\n', '\u20ac'])) recorder.record(event)
      recorder.endEarly()
      // 20 bytes, 2 and 3.
      expect(exchange.usage?.output).to.equal(7)
    }
  })

  it('of a reply that ends early have the counts that were reported, and the text behind them', () => {
    const behind = exchangeOf()
    record(behind, usage(7, 1), text(40)).endEarly()
    expect(behind.usage).to.deep.equal({ input: 7, output: 9, isEstimated: true })
    const ahead = exchangeOf()
    record(ahead, text(40), usage(7, 100)).endEarly()
    expect(ahead.usage).to.deep.equal({ input: 7, output: 100, isEstimated: true })
    const finished = exchangeOf()
    record(finished, text(40), finish, usage(7, 3)).endEarly()
    expect(finished.usage).to.deep.equal({ input: 7, output: 3 })
  })

  it('of a plugin that answers, and of a stored reply, are nothing', () => {
    for (const [more, isStored] of [[{ target: undefined }], [{}, true]] as const) {
      const [complete, early] = [exchangeOf(more), exchangeOf(more)]
      if (isStored) for (const exchange of [complete, early]) StoredReply.set(exchange, true)
      record(complete, text(40), finish).complete()
      record(early, text(40)).endEarly()
      for (const { costUsd, usage } of [complete, early])
        expect([costUsd, usage]).to.deep.equal([0, undefined])
    }
  })

  it('of a stream that nobody read are the input', () => {
    const reply = { type: 'stream', batches: [] }
    const exchange = exchangeOf({ reply })
    recordUnreadCost(exchange, costOf)
    expect(exchange).to.deep.include({ usage: { input: 15, output: 0, isEstimated: true }, costUsd: 15 })
  })

  it('of a request that was cancelled before the reply are the input, at the price of the last attempt', () => {
    const attempts = [
      { target: { provider: 'openai', model: 'my-own' }, outcome: 'provider_error' },
      { target, outcome: 'cancelled', mayBeBilled: true },
    ]
    const exchange = exchangeOf({ target: undefined, attempts })
    recordUnreadCost(exchange, costOf)
    expect(exchange).to.deep.include({ usage: { input: 15, output: 0, isEstimated: true }, costUsd: 15 })
    expect(billedTarget(exchange)).to.equal(target)
  })

  it('of failed calls that may be billed are added to those of the reply', () => {
    const attempts = [
      { target, outcome: 'provider_timeout', mayBeBilled: true },
      { target, outcome: 'provider_error' },
      { target, outcome: 'ok' },
    ]
    const exchange = exchangeOf({ attempts })
    record(exchange, text(40), finish, usage(7, 3)).complete()
    const alone = exchangeOf({ attempts: attempts.slice(2) })
    record(alone, text(40), finish, usage(7, 3)).complete()
    expect(exchange.costUsd).to.equal(Number(alone.costUsd) + 15)
    expect(exchange.usage).to.deep.equal({ input: 7, output: 3 })
  })

  it('of a request that failed are none', () => {
    const attempts = [{ target, outcome: 'provider_timeout' }]
    for (const exchange of [exchangeOf({ target: undefined, attempts }), exchangeOf({ target: undefined })]) {
      recordUnreadCost(exchange, costOf)
      expect([exchange.costUsd, exchange.usage]).to.deep.equal([undefined, undefined])
      expect(billedTarget(exchange)).to.equal(undefined)
    }
  })
})
