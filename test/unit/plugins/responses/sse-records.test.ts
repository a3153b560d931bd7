import { expect } from 'chai'
import type { JsonObject, ReplyPart } from '../../../../core/contract/index.ts'
import { createSseRecords, replaySseRecords } from '../../../../plugins/responses/sse-records.ts'
import { createResponseOutput } from '../../../../providers/shared/responses-format/output.ts'

const RESPONSE_KEY = 'abcdefghijklmnopqrstuvwx'

const text = (text: string): ReplyPart => ({ type: 'text', text })
const reasoning = (text: string): ReplyPart => ({ type: 'reasoning', text })
const refusal = (text: string): ReplyPart => ({ type: 'refusal', text })
const call = (index: number): ReplyPart => ({
  type: 'tool-start',
  index,
  id: `call_${index}`,
  name: `tool_${index}`,
})
const json = (index: number, json: string): ReplyPart => ({ type: 'tool-json', index, json })

const INITIAL = {
  id: `resp_${RESPONSE_KEY}`,
  status: 'in_progress',
  output: [] as unknown,
  error: null,
  incomplete_details: null,
  completed_at: null,
}

/** Returns the records of a complete stream and the response that it ends with. */
function stream(parts: readonly ReplyPart[], status: 'completed' | 'incomplete' = 'completed') {
  const records = createSseRecords(RESPONSE_KEY)
  let written =
    records.open(INITIAL) + parts.map((part) => records.add(part)).join('') + records.close(status)
  const response = { ...INITIAL, status, output: records.output.items(), completed_at: 1, latency_ms: 5 }
  written += records.end(response)
  return { written, response, chunkLengths: records.output.chunkLengths(), events: readEvents(written) }
}

// biome-ignore lint/suspicious/noExplicitAny: inspected by assertions
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
  it('are those of OpenAI for text', () => {
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
    const { events } = stream([reasoning('Hm'), text('Hi'), call(0), json(0, '{}'), text('Bye')])
    expect(events.map(({ sequence_number }) => sequence_number)).to.deep.equal(events.map((_, n) => n))
    const ids = new Map<number, string>()
    for (const { output_index, item_id, item } of events) {
      if (output_index === undefined) continue
      const id = item_id ?? item.id
      expect(ids.get(output_index) ?? id).to.equal(id)
      ids.set(output_index, id)
    }
    expect([...ids]).to.deep.equal([
      [0, `rs_${RESPONSE_KEY}00`],
      [1, `msg_${RESPONSE_KEY}01`],
      [2, `fc_${RESPONSE_KEY}02`],
      [3, `msg_${RESPONSE_KEY}03`],
    ])
  })

  it('send the arguments of a tool call in chunks', () => {
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

  it('separate parallel calls with interleaved arguments', () => {
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

  it('send reasoning as a summary before the text', () => {
    const { events } = stream([reasoning('Let me'), reasoning(' see'), text('Yes')])
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

  it('send a refusal as a separate part', () => {
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

  it('include a message even if the reply is empty', () => {
    const { response } = stream([text('')])
    expect((response.output as JsonObject[])[0]?.content).to.deep.equal([
      { type: 'output_text', text: '', annotations: [], logprobs: [] },
    ])
  })

  it('mark only the item that was cut off as incomplete', () => {
    const { response } = stream([text('Hi'), call(0), json(0, '{"a')], 'incomplete')
    expect((response.output as JsonObject[]).map(({ status }) => status)).to.deep.equal([
      'completed',
      'incomplete',
    ])
  })

  it('keep the extra content of a call, which the provider expects back', () => {
    const output = createResponseOutput(RESPONSE_KEY)
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
  const replayed = async (response: JsonObject, chunkLengths?: readonly (readonly number[])[]) => {
    let written = ''
    for await (const text of replaySseRecords(RESPONSE_KEY, response, chunkLengths)) written += text
    return written
  }

  for (const { content, parts, status } of [
    { content: 'text', parts: [text('Hel'), text('lo '), text('🚂'), text('!')] },
    {
      content: 'reasoning and text',
      parts: [reasoning('Let'), reasoning(' me'), text('Yes'), reasoning('again'), text('No')],
    },
    {
      content: 'parallel calls',
      parts: [text('I look'), call(0), call(1), json(0, '{"a"'), json(1, '{}'), json(0, ':1}')],
    },
    { content: 'a call without arguments', parts: [call(0), call(1), json(1, '{}')] },
    {
      content: 'a refusal',
      parts: [text('Well'), refusal('No'), refusal('!')],
      status: 'incomplete' as const,
    },
    { content: 'an empty reply', parts: [] },
    { content: 'a split character', parts: [text('\ud83d'), text('\ude82')] },
  ]) {
    it(`of ${content} is the same byte for byte`, async () => {
      const { written, response, chunkLengths } = stream(parts, status)
      const stored = JSON.parse(JSON.stringify({ response, chunkLengths }))
      expect(await replayed(stored.response, stored.chunkLengths)).to.equal(written)
    })
  }

  it('of a response that was not streamed has each text in one chunk', async () => {
    const { response } = stream([reasoning('Hm'), text('Hello'), text(' there'), call(0), json(0, '{"a":1}')])
    const events = readEvents(await replayed(response))
    const deltas = events.filter(({ type }) => type.endsWith('.delta')).map(({ delta }) => delta)
    expect(deltas).to.deep.equal(['Hm', 'Hello there', '{"a":1}'])
    expect(events.at(-1).response).to.deep.equal({ ...response, metadata: {} })
  })
})
