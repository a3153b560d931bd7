import { expect } from 'chai'
import type { JsonObject, ReplyPart } from '../../../../../core/contract/index.ts'
import { createResponseOutput } from '../../../../../core/dialects/responses/output.ts'
import { createSseRecords, replaySseRecords } from '../../../../../core/dialects/responses/sse-records.ts'

const SEED = 'abcdefghijklmnopqrstuvwx'

const text = (text: string): ReplyPart => ({ type: 'text', text })
const thought = (text: string): ReplyPart => ({ type: 'reasoning', text })
const refusal = (text: string): ReplyPart => ({ type: 'refusal', text })
const call = (index: number): ReplyPart => ({
  type: 'tool-start',
  index,
  id: `call_${index}`,
  name: `tool_${index}`,
})
const json = (index: number, json: string): ReplyPart => ({ type: 'tool-json', index, json })

const OPENED = {
  id: `resp_${SEED}`,
  status: 'in_progress',
  output: [] as unknown,
  usage: null,
  error: null,
  incomplete_details: null,
  completed_at: null,
}

/** The records of a whole stream, and the response that it ends with. */
function stream(parts: readonly ReplyPart[], status: 'completed' | 'incomplete' = 'completed') {
  const records = createSseRecords(SEED)
  let written = records.open(OPENED) + parts.map((part) => records.add(part)).join('') + records.close(status)
  const response = { ...OPENED, status, output: records.output.items(), completed_at: 1, latency_ms: 5 }
  written += records.end(response)
  return { written, response, pace: records.output.chunkLengths(), events: readEvents(written) }
}

// biome-ignore lint/suspicious/noExplicitAny: looked into by assertions
function readEvents(written: string): any[] {
  return written
    .split('\n\n')
    .filter(Boolean)
    .map((record) => {
      const [event, data] = record.split('\n')
      const parsed = JSON.parse(String(data).slice('data: '.length))
      expect(event).to.equal(`event: ${parsed.type}`)
      return parsed
    })
}

const types = (events: readonly { type: string }[]) => events.map(({ type }) => type.replace('response.', ''))

const HEAD = ['created', 'in_progress']

describe('the events of a streamed response', () => {
  it('are those of OpenAI for a text', () => {
    const { events } = stream([text('Hel'), text('lo')])
    expect(types(events)).to.deep.equal([
      ...HEAD,
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ])
    expect(events[2].item).to.deep.include({
      type: 'message',
      role: 'assistant',
      status: 'in_progress',
      content: [],
    })
    expect(events[3].part).to.deep.equal({ type: 'output_text', text: '', annotations: [], logprobs: [] })
    expect(events[6].text).to.equal('Hello')
    expect(events[8].item.content[0].text).to.equal('Hello')
    expect(events.at(-1).response.output).to.deep.equal([events[8].item])
  })

  it('are numbered from 0 without gaps, and keep the id of their item', () => {
    const { events } = stream([thought('Hm'), text('Hi'), call(0), json(0, '{}'), text('Bye')])
    expect(events.map(({ sequence_number }) => sequence_number)).to.deep.equal(events.map((_, n) => n))
    const ids = new Map<number, string>()
    for (const { output_index, item_id, item } of events) {
      if (output_index === undefined) continue
      const id = item_id ?? item.id
      expect(ids.get(output_index) ?? id).to.equal(id)
      ids.set(output_index, id)
    }
    expect([...ids]).to.deep.equal([
      [0, `rs_${SEED}00`],
      [1, `msg_${SEED}01`],
      [2, `fc_${SEED}02`],
      [3, `msg_${SEED}03`],
    ])
  })

  it('tell a tool call with its arguments in pieces', () => {
    const { events } = stream([call(0), json(0, '{"a"'), json(0, ':1}')])
    expect(types(events)).to.deep.equal([
      ...HEAD,
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ])
    expect(events[2].item).to.deep.include({
      type: 'function_call',
      call_id: 'call_0',
      name: 'tool_0',
      arguments: '',
    })
    expect(events[5]).to.deep.include({ arguments: '{"a":1}', name: 'tool_0' })
    expect(events[6].item).to.deep.include({ arguments: '{"a":1}', status: 'completed' })
  })

  it('keep parallel calls apart whose arguments come in turns', () => {
    const { response, events } = stream([
      call(0),
      call(1),
      json(0, '{"a"'),
      json(1, '{"b"'),
      json(0, ':1}'),
      json(1, ':2}'),
    ])
    expect((response.output as JsonObject[]).map((item) => item.arguments)).to.deep.equal([
      '{"a":1}',
      '{"b":2}',
    ])
    const deltas = events.filter(({ type }) => type.endsWith('arguments.delta'))
    expect(deltas.map(({ output_index }) => output_index)).to.deep.equal([0, 1, 0, 1])
  })

  it('show thoughts as a reasoning summary before the answer', () => {
    const { events } = stream([thought('Let me'), thought(' see'), text('Yes')])
    expect(types(events).slice(2, 9)).to.deep.equal([
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
    ])
    expect(events[8].item).to.deep.include({
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'Let me see' }],
    })
  })

  it('show a refusal as a part of its own', () => {
    const { events } = stream([text('I'), refusal('No'), refusal('!')], 'incomplete')
    expect(types(events).slice(2)).to.deep.equal([
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'content_part.added',
      'refusal.delta',
      'refusal.delta',
      'refusal.done',
      'content_part.done',
      'output_item.done',
      'incomplete',
    ])
    expect(events.at(-1).response.output[0]).to.deep.include({ status: 'incomplete' })
    expect(events.at(-1).response.output[0].content[1]).to.deep.equal({ type: 'refusal', refusal: 'No!' })
  })

  it('have a message even when the model said nothing', () => {
    const { response } = stream([text('')])
    expect((response.output as JsonObject[])[0]?.content).to.deep.equal([
      { type: 'output_text', text: '', annotations: [], logprobs: [] },
    ])
  })

  it('mark as incomplete only the item that was cut off', () => {
    const { response } = stream([text('Hi'), call(0), json(0, '{"a')], 'incomplete')
    expect((response.output as JsonObject[]).map(({ status }) => status)).to.deep.equal([
      'completed',
      'incomplete',
    ])
  })

  it('carry back what a provider wants to see again with a call', () => {
    const output = createResponseOutput(SEED)
    output.add({
      type: 'tool-start',
      index: 0,
      id: 'c',
      name: 'f',
      extra_content: { google: { thought_signature: 'x' } },
    })
    output.close('completed')
    expect(output.items()[0]?.extra_content).to.deep.equal({ google: { thought_signature: 'x' } })
  })
})

describe('a replayed stream', () => {
  const replayed = async (response: JsonObject, pace?: readonly (readonly number[])[]) => {
    let written = ''
    for await (const text of replaySseRecords(SEED, response, pace)) written += text
    return written
  }

  for (const { what, parts, status } of [
    { what: 'text', parts: [text('Hel'), text('lo '), text('🚂'), text('!')] },
    {
      what: 'thoughts and text',
      parts: [thought('Let'), thought(' me'), text('Yes'), thought('again'), text('No')],
    },
    {
      what: 'parallel calls',
      parts: [text('I look'), call(0), call(1), json(0, '{"a"'), json(1, '{}'), json(0, ':1}')],
    },
    { what: 'a call without arguments', parts: [call(0), call(1), json(1, '{}')] },
    { what: 'a refusal', parts: [text('Well'), refusal('No'), refusal('!')], status: 'incomplete' as const },
    { what: 'silence', parts: [] },
    { what: 'a split character', parts: [text('\ud83d'), text('\ude82')] },
  ]) {
    it(`of ${what} is the same byte for byte`, async () => {
      const { written, response, pace } = stream(parts, status)
      const stored = JSON.parse(JSON.stringify({ response, pace }))
      expect(await replayed(stored.response, stored.pace)).to.equal(written)
    })
  }

  it('of a response that was answered whole has each text in one piece', async () => {
    const { response } = stream([thought('Hm'), text('Hello'), text(' there'), call(0), json(0, '{"a":1}')])
    const events = readEvents(await replayed(response))
    const deltas = events.filter(({ type }) => type.endsWith('.delta')).map(({ delta }) => delta)
    expect(deltas).to.deep.equal(['Hm', 'Hello there', '{"a":1}'])
    expect(events.at(-1).response).to.deep.equal(response)
  })
})
