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

const OTHERS = ['refusal', 'later', 'logprobs', 'two choices', 'citation', 'comment']
const KINDS = [...Array(20).fill('text'), ...OTHERS]

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
  id: fc.constantFrom('chatcmpl-1', 'chatcmpl-2', 'chatcmpl-é', 'a\\u0062'),
  created: fc.constantFrom('1', '1795000000', '01', '1.5'),
  tier: fc.constantFrom('"default"', '"priority"', 'null'),
  /** What the text records have behind their head in place of the first record's. */
  difference: fc.constantFrom(...Array(9).fill(''), '"id":"x",', '"service_tier":"flex",', '"usage":{},'),
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

/** Whether records must be written again, so that escape sequences and the time of later ones may differ. */
function isRewritten({ id, created, difference }: Stream): boolean {
  return created === '1.5' || /"(id|usage)"/.test(difference) || id.includes('\\')
}

function toBody(given: Stream): Buffer {
  const { records, id, created, tier, difference, isPadded, hasUsage, end, broken } = given
  const write = (delta: string, padding = '', more = '', time: string = created, other = '') => {
    const choices = `[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":null}${more}]`
    const tail = `${hasUsage ? ',"usage":null' : ''}${isPadded ? `,"obfuscation":"${padding}"` : ''}`
    const head = `"id":"${id}","object":"chat.completion.chunk","created":${time},"service_tier":${tier},${other}"model":"gpt-4o"`
    return `data: {${head},"choices":${choices}${tail}}${end}`
  }
  const lines = records.map(({ kind, text, encoding, padding }) => {
    const content = ENCODINGS[encoding as keyof typeof ENCODINGS](text)
    if (kind === 'comment') return `: waiting${end}`
    if (kind === 'refusal') return write(`{"content":${content},"refusal":"No."}`, padding)
    if (kind === 'logprobs')
      return write(`{"content":${content}}`, padding).replace('"logprobs":null', '"logprobs":{}')
    if (kind === 'citation')
      return write(`{"content":${content},"annotations":[{"type":"url_citation"}]}`, padding)
    const more = kind === 'two choices' ? ',{"index":1,"delta":{"content":"other"}}' : ''
    return write(
      `{"content":${content}}`,
      padding,
      more,
      kind === 'later' && !isRewritten(given) ? '2' : created,
      difference,
    )
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

/**
 * Parses each record, because none has as much white space before it as another. Leaves only the
 * record and its text to pass on.
 */
function createSlowReader(): { read: ReadPiece } {
  const sse = createSseReader()
  const reader = createChatStreamReader()
  let space = ''
  return {
    read(bytes, batch) {
      for (const record of sse.feed(bytes)) {
        space += ' '
        const spaced = { ...record, data: record.data.startsWith('{') ? space + record.data : record.data }
        for (const event of reader.read(spaced)) {
          const source = event[NATIVE]?.source?.trimStart() ?? ''
          const native = event[NATIVE] && { record: JSON.parse(source), source }
          batch.push(new ReplyEvent(event.parts, native))
        }
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
  return Buffer.concat(received)
}

function toComparable(given: Stream, body: Buffer): string {
  if (!isRewritten(given)) return body.toString('latin1')
  return body.toString().replaceAll(/(?<=^data: )\{.*\}$/gm, (record) => JSON.stringify(JSON.parse(record)))
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
        const slow = await stream(createSlowReader(), [body], wantsUsage, extension)
        expect(toComparable(given, fast)).to.equal(toComparable(given, slow))
      }),
      inRounds(IS_FULL ? 20_000 : 500),
    )
  })

  it('are parsed behind the beginning of a character that ends there', async () => {
    const records = Array(4).fill({ kind: 'text', text: 'Hi', encoding: 'plain', padding: '' })
    const form: Stream = {
      records,
      id: 'chatcmpl-1',
      created: '1',
      tier: 'null',
      difference: '',
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
    expect(await stream(createFastReader(), pieces, false)).to.deep.equal(slow)
    expect(slow.toString('latin1').split('"Hi"')).to.have.length(4)
  })
})
