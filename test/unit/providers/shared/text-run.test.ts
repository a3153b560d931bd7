import { expect } from 'chai'
import type { ReplyEvent } from '../../../../core/contract/chat.ts'
import { NATIVE, splitRuns, TEXT_RUN } from '../../../../core/contract/native-records.ts'
import { createChatStreamReader } from '../../../../providers/chat-format/stream.ts'
import { openai } from '../../../../providers/openai/adapter.ts'
import { readEvents } from '../../../../providers/shared/frames.ts'
import { createSseReader } from '../../../../providers/shared/sse.ts'
import { cutBytes } from '../../../support/cut-bytes.ts'

const TEXTS = ['Track', ' nine', ' "quoted"', ' \\"},"usage":null', '\n', '', ' 漢 😀', '\u0041é', '.']

const frame = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' }
const chunk = (delta: object, finish_reason: string | null = null, padding?: string) => ({
  ...frame,
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  ...(padding !== undefined && { usage: null, obfuscation: padding }),
})
const USAGE = { prompt_tokens: 3, completion_tokens: 8, total_tokens: 11 }

function chunksOf(isPadded: boolean): readonly object[] {
  const padding = (size: number) => (isPadded ? 'x'.repeat(size) : undefined)
  return [
    chunk({ role: 'assistant', content: '' }, null, padding(2)),
    ...TEXTS.map((content, index) => chunk({ content }, null, padding(index))),
    chunk({ content: 'refused', refusal: 'No.' }, null, padding(1)),
    ...TEXTS.map((content) => chunk({ content }, null, padding(0))),
    chunk({}, 'stop', padding(3)),
    { ...frame, choices: [], usage: USAGE },
  ]
}

const toBody = (chunks: readonly object[]) =>
  `${chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')}data: [DONE]\n\n`

let models = 0

/** Returns a body of a model whose streams were not read before: their form is remembered. */
const withNewModel = (body: string) => body.replaceAll('"gpt-4o"', `"gpt-4o-${++models}"`)

/** Reads a body as the network delivers it, in pieces of `size` bytes. */
function read(body: string, size: number, reader = createChatStreamReader()): readonly ReplyEvent[] {
  const sse = createSseReader()
  const events: ReplyEvent[] = []
  for (const bytes of cutBytes(body, size)) readEvents(sse.decode(bytes), sse, reader, events)
  for (const record of sse.end()) events.push(...reader.read(record))
  return events
}

/** Reads every record as JSON. */
function readParsed(body: string) {
  const reader = createChatStreamReader()
  const { readRun: _, ...parsing } = reader
  const sse = createSseReader()
  const events: ReplyEvent[] = []
  for (const record of [...sse.feed(Buffer.from(body)), ...sse.end()]) events.push(...parsing.read(record))
  return events
}

const describeEvents = (events: readonly ReplyEvent[]) =>
  events.map((event) => ({
    parts: event.parts,
    record: event[NATIVE]?.record,
    source: event[NATIVE]?.source,
  }))

describe('text records that arrive together', () => {
  for (const isPadded of [false, true]) {
    it(`read the same as records that are parsed, wherever they are cut${isPadded ? ', with padding' : ''}`, () => {
      const body = toBody(chunksOf(isPadded))
      const expected = describeEvents(readParsed(body))
      const sizes = [...Array.from({ length: 40 }, (_, index) => index + 1), 200, 333, 1000, 5000, 1e6]
      for (const size of sizes)
        expect(describeEvents(splitRuns(read(body, size))), `${size}`).to.deep.equal(expected)
    })
  }

  it('are one event, which is not parsed', () => {
    const events = read(withNewModel(toBody(chunksOf(true))), 1e6)
    const runs = events.flatMap((event) => event[TEXT_RUN] ?? [])
    expect(runs.map(({ bounds }) => bounds.length / 4)).to.deep.equal([TEXTS.length - 1, TEXTS.length])
    expect(events).to.have.length(7)
  })

  it('are one event also in streams of OpenAI, which has two kinds of them', () => {
    const body = withNewModel(toBody(chunksOf(true)))
    expect(read(body, 1e6, openai.createStreamReader())).to.have.length(7)
    expect(describeEvents(splitRuns(read(body, 100, openai.createStreamReader())))).to.deep.equal(
      describeEvents(readParsed(body)),
    )
  })

  it('have the parts and the bytes of their texts', () => {
    const [run] = read(withNewModel(toBody(chunksOf(false))), 1e6).flatMap((event) => event[TEXT_RUN] ?? [])
    const texts = TEXTS.slice(1)
    const expected = texts.filter((text) => text !== '').map((text) => ({ type: 'text', text }))
    expect(run?.parts).to.deep.equal(expected)
    expect(run?.textBytes).to.equal(Buffer.byteLength(texts.join('')))
  })

  it('begin with the first one if an earlier stream of the model had such records', () => {
    const body = withNewModel(toBody(chunksOf(true)))
    const later = body.replaceAll('chatcmpl-1', 'chatcmpl-two').replaceAll('"created":1', '"created":22')
    read(body, 1e6)
    const events = read(later, 1e6)
    expect(events).to.have.length(6)
    expect(events[1]?.[TEXT_RUN]?.parts[0]).to.deep.equal({ type: 'text', text: TEXTS[0] })
    expect(describeEvents(splitRuns(events))).to.deep.equal(describeEvents(readParsed(later)))
  })

  it('do not let a first record pass that is not the JSON of an earlier stream', () => {
    for (const isPadded of [false, true]) {
      const body = withNewModel(toBody(chunksOf(isPadded)))
      const [first = '', ...others] = body.split('\n\n')
      read(body, 1e6)
      const withFirst = (record: string) => [record, ...others].join('\n\n')
      expect(describeEvents(read(withFirst(first.replace('"xx"', '"\\u0041"')), 1e6))[0]).to.deep.include({
        record: JSON.parse(first.slice('data: '.length).replace('"xx"', '"A"')),
      })
      const changes = ['}"obfuscation":"x"}', '}', '"}', ',"obfuscation":"x}', ',"obfuscation":"\\x"}']
      for (const end of changes) expect(() => read(withFirst(first + end), 1e6), end).to.throw('malformed')
      const shorter = first.slice(0, -1)
      expect(() => read(withFirst(shorter), 1e6)).to.throw('malformed')
    }
  })

  it('are parsed again if they have another form than in an earlier stream', () => {
    const body = withNewModel(toBody(chunksOf(false)))
    read(body, 1e6)
    const [first, ...others] = body.split('\n\n')
    for (const [field, changed] of [
      ['"model"', '"id":"other","model"'],
      ['"created":1', '"created":2'],
      ['"logprobs":null', '"logprobs":{"content":[]}'],
      ['"index":0', '"index":1'],
    ] as const) {
      const later = [first, ...others.map((record) => record.replace(field, changed))].join('\n\n')
      // With white space, no record is like another one.
      const spaced = later.replaceAll('data: {', (_, at) => `data: ${' '.repeat(at)}{`)
      const trim = (events: readonly ReplyEvent[]) =>
        describeEvents(events).map((event) => ({ ...event, source: event.source?.trimStart() }))
      for (const _ of ['unknown', 'remembered'])
        expect(trim(splitRuns(read(later, 1e6))), changed).to.deep.equal(trim(readParsed(spaced)))
    }
  })

  it('end before a record that is not JSON', () => {
    const [role, first, second] = chunksOf(true).map((each) => `data: ${JSON.stringify(each)}\n\n`)
    const broken = second?.replace('nine', 'ni\\xne')
    expect(() => read(`${role}${first}${second}${broken}`, 1e6)).to.throw('malformed')
  })

  it('are no run if they have another choice beside them, of which clients get nothing', () => {
    const [role] = chunksOf(false)
    const other = { index: 1, delta: {}, finish_reason: null }
    const texts = ['a', 'b', 'c'].map((content) => ({
      ...frame,
      choices: [other, { index: 0, delta: { content }, finish_reason: null }],
    }))
    const [first, ...events] = read(toBody([role as object, ...texts]), 1e6)
    expect(first?.[NATIVE]).to.not.equal(undefined)
    expect(events.slice(0, 3).map(({ parts }) => parts)).to.deep.equal(
      ['a', 'b', 'c'].map((text) => [{ type: 'text', text }]),
    )
    expect(events.filter((event) => event[NATIVE] ?? event[TEXT_RUN])).to.deep.equal([])
  })

  it('end at the end of the reply', () => {
    const [role, first, second] = chunksOf(true).map((each) => `data: ${JSON.stringify(each)}\n\n`)
    const events = read(`${role}${first}data: [DONE]\n\n${second}`, 1e6)
    expect(events.flatMap(({ parts }) => parts).map(({ type }) => type)).to.deep.equal([
      'start',
      'text',
      'finish',
    ])
  })
})
