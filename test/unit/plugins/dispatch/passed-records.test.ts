import { expect } from 'chai'
import fc from 'fast-check'
import { type RepliedExchange, ReplyEvent } from '../../../../core/contract/index.ts'
import { IS_ASCII, NATIVE } from '../../../../core/contract/native-records.ts'
import { streamChatChunks } from '../../../../plugins/dispatch/chat/completion-stream.ts'
import { createChatStreamReader } from '../../../../providers/chat-format/stream.ts'
import { readEvents } from '../../../../providers/shared/frames.ts'
import { createSseReader } from '../../../../providers/shared/sse.ts'
import { staying } from '../../../support/presence.ts'
import { inRounds } from '../../../support/property.ts'
import { IS_FULL } from '../../../support/rounds.ts'

/** How texts are written as JSON. */
const ENCODINGS = {
  plain: (text: string) => JSON.stringify(text),
  ascii: (text: string) =>
    JSON.stringify(text).replace(
      /[\u0080-\uffff]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  // Not all of them are JSON that a text may contain.
  raw: (text: string) => `"${text}"`,
}

const texts = fc.oneof(
  fc.constantFrom('', ' the', '\n', '"', '\\', '漢', ' 😀', '"},"usage":null', '\\"}\n\ndata: ', '\\ud83d'),
  fc.string({ unit: 'binary', maxLength: 90 }),
)

const KINDS = [...Array(20).fill('text'), 'refusal', 'later', 'logprobs', 'two choices', 'comment']

const streams = fc.record({
  records: fc.array(
    fc.record({
      kind: fc.constantFrom(...KINDS),
      text: texts,
      encoding: fc.constantFrom(...Array(9).fill('plain'), 'ascii', 'raw'),
      padding: fc.constantFrom('', 'x', 'aZ3', '\\n', 'ü'),
    }),
    { maxLength: 40, size: 'max' },
  ),
  id: fc.constantFrom('chatcmpl-1', 'chatcmpl-é'),
  isPadded: fc.boolean(),
  hasUsage: fc.boolean(),
  wantsUsage: fc.boolean(),
  /** What the extension fields contain. */
  extension: fc.constantFrom('acme', 'ácme'),
  end: fc.constantFrom('\n\n', '\n\n', '\n\n', '\r\n\r\n'),
  /** Where a byte is no UTF-8, from the end, if one is. */
  broken: fc.option(fc.nat({ max: 5000 }), { freq: 2 }),
  cuts: fc.array(fc.nat({ max: 10_000 }), { maxLength: 12 }),
})

type Stream = typeof streams extends fc.Arbitrary<infer Value> ? Value : never

function toBody({ records, id, isPadded, hasUsage, end, broken }: Stream): Buffer {
  const write = (delta: string, padding = '', more = '', created = 1) => {
    const choices = `[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":null}${more}]`
    const tail = `${hasUsage ? ',"usage":null' : ''}${isPadded ? `,"obfuscation":"${padding}"` : ''}`
    const head = `"id":"${id}","object":"chat.completion.chunk","created":${created},"model":"gpt-4o"`
    return `data: {${head},"choices":${choices}${tail}}${end}`
  }
  const lines = records.map(({ kind, text, encoding, padding }) => {
    const content = ENCODINGS[encoding as keyof typeof ENCODINGS](text)
    if (kind === 'comment') return `: waiting${end}`
    if (kind === 'refusal') return write(`{"content":${content},"refusal":"No."}`, padding)
    if (kind === 'logprobs')
      return write(`{"content":${content}}`, padding).replace('"logprobs":null', '"logprobs":{}')
    const more = kind === 'two choices' ? ',{"index":1,"delta":{"content":"other"}}' : ''
    return write(`{"content":${content}}`, padding, more, kind === 'later' ? 2 : 1)
  })
  const first = write('{"role":"assistant","content":"","refusal":null}')
  const finish = write('{}').replace('"finish_reason":null', '"finish_reason":"stop"')
  const body = Buffer.from(`${first}${lines.join('')}${finish}data: [DONE]${end}`)
  if (broken !== null) body[body.length - 1 - (broken % body.length)] = 0xe6
  return body
}

type ReadPiece = (bytes: Buffer, batch: ReplyEvent[]) => void

/** Reads runs of records without parsing them. */
function createFastReader(): { read: ReadPiece } {
  const sse = createSseReader()
  const reader = createChatStreamReader()
  return { read: (bytes, batch) => readEvents(sse.decode(bytes), sse, reader, batch) }
}

/** Parses each record, and leaves nothing to pass on but the record and its text. */
function createSlowReader(): { read: ReadPiece } {
  const sse = createSseReader()
  const reader = createChatStreamReader()
  return {
    read(bytes, batch) {
      for (const record of sse.feed(bytes))
        for (const event of reader.read(record)) {
          const { source = '' } = event[NATIVE] ?? {}
          const native = event[NATIVE] && { record: JSON.parse(source), source }
          batch.push(new ReplyEvent(event.parts, native))
        }
    },
  }
}

/** Returns what a client receives. */
async function stream(
  { read }: { read: ReadPiece },
  pieces: readonly Buffer[],
  include_usage: boolean,
  provider = 'acme',
) {
  async function* batches() {
    for (const piece of pieces) {
      const batch: ReplyEvent[] = []
      try {
        read(piece, batch)
      } catch (error) {
        yield batch
        throw error
      }
      yield batch
    }
  }
  // The cast is safe: no other fields are read.
  const exchange = {
    id: 'req_0',
    request: { messages: [], stream_options: { include_usage } },
    reply: { type: 'stream', batches: batches() },
    decoration: { headers: {}, first: () => ({ provider }), last: () => ({ provider }) },
    warnings: [],
    client: staying,
  } as unknown as RepliedExchange
  const received: Buffer[] = []
  const texts = streamChatChunks(exchange)
  for await (const records of texts) received.push(Buffer.from(records, texts[IS_ASCII] ? 'latin1' : 'utf8'))
  return Buffer.concat(received).toString('latin1')
}

describe('records that a provider sends in the format of the client', () => {
  it('are passed on byte for byte as if each of them was parsed, however they arrive', async () => {
    await fc.assert(
      fc.asyncProperty(streams, async (given) => {
        const body = toBody(given)
        const cuts = given.cuts.map((cut) => cut % body.length).sort((one, other) => one - other)
        const pieces = [0, ...cuts].map((cut, index) => body.subarray(cut, cuts[index] ?? body.length))
        const { wantsUsage, extension } = given
        const fast = await stream(createFastReader(), pieces, wantsUsage, extension)
        expect(fast).to.equal(await stream(createSlowReader(), [body], wantsUsage, extension))
      }),
      inRounds(IS_FULL ? 20_000 : 500),
    )
  })

  it('are parsed behind the beginning of a character that ends there', async () => {
    const records = Array(4).fill({ kind: 'text', text: 'Hi', encoding: 'plain', padding: '' })
    const form: Stream = {
      records,
      id: 'chatcmpl-1',
      isPadded: false,
      hasUsage: false,
      wantsUsage: false,
      extension: 'acme',
      end: '\n\n',
      broken: null,
      cuts: [],
    }
    const body = toBody(form)
    const cut = body.indexOf('data:', 600)
    const begun = Buffer.concat([body.subarray(0, cut), Buffer.of(0xe6)])
    const pieces = [begun, body.subarray(cut)]
    const slow = await stream(createSlowReader(), [Buffer.concat(pieces)], false)
    expect(await stream(createFastReader(), pieces, false)).to.equal(slow)
    expect(slow.split('"Hi"')).to.have.length(4)
  })
})
