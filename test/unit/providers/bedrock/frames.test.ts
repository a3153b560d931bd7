import { expect } from 'chai'
import { EXCEPTION, eventStreamFrames } from '../../../../providers/bedrock/frames.ts'
import { createBedrockStreamReader } from '../../../../providers/bedrock/stream.ts'
import { chunkFrame, frame } from '../../../support/scripted-bedrock.ts'

const FRAMES = [
  chunkFrame({ type: 'message_start' }),
  frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Grüße 🚂' } }),
  frame('throttlingException', { message: 'slow down' }, 'exception'),
]
const RECORDS = [
  { event: 'chunk', data: '{"type":"message_start"}' },
  { event: 'contentBlockDelta', data: '{"contentBlockIndex":0,"delta":{"text":"Grüße 🚂"}}' },
  { event: EXCEPTION, data: '{"message":"slow down","__type":"throttlingException"}' },
]

function readInPieces(bytes: Buffer, pieceOf: number) {
  const reader = eventStreamFrames.createReader()
  const records = []
  for (let start = 0; start < bytes.length; start += pieceOf)
    records.push(...reader.read(bytes.subarray(start, start + pieceOf)))
  return [...records, ...reader.end()]
}

function damaged(bytes: Buffer, position: number): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt8(copy.readUInt8(position) ^ 1, position)
  return copy
}

describe("the decoder of AWS's event stream", () => {
  it('reads frames that are divided anywhere, or that arrive together', () => {
    const all = Buffer.concat(FRAMES)
    for (const pieceOf of [1, 2, 3, 7, 11, 12, 13, 64, 100, all.length])
      expect(readInPieces(all, pieceOf), `pieces of ${pieceOf}`).to.deep.equal(RECORDS)
    for (let border = 1; border < all.length; border++) {
      const reader = eventStreamFrames.createReader()
      const records = [...reader.read(all.subarray(0, border)), ...reader.read(all.subarray(border))]
      expect([...records, ...reader.end()], `border at ${border}`).to.deep.equal(RECORDS)
    }
  })

  it('does not keep the memory of the bytes that it was given', () => {
    const reader = eventStreamFrames.createReader()
    const shared = Buffer.alloc(16)
    const records = []
    const all = Buffer.concat(FRAMES)
    for (let start = 0; start < all.length; start += shared.length) {
      const size = all.copy(shared, 0, start, start + shared.length)
      records.push(...reader.read(shared.subarray(0, size)))
    }
    expect(records).to.deep.equal(RECORDS)
  })

  it('refuses each damaged byte, in the length of a frame before more of it arrives', () => {
    const [good = Buffer.alloc(0), next = Buffer.alloc(0)] = FRAMES
    for (let position = 0; position < next.length; position++) {
      const reader = eventStreamFrames.createReader()
      const sent = Buffer.concat([good, damaged(next, position)])
      // The record before it is not lost.
      expect(reader.read(sent)).to.deep.equal([RECORDS[0]])
      expect(() => reader.end(), `byte ${position}`).to.throw()
    }
    for (let position = 0; position < 12; position++) {
      const start = damaged(next, position).subarray(0, 12)
      const read = () => eventStreamFrames.createReader().read(start)
      expect(read, `byte ${position}`).to.throw('checksum')
    }
  })

  it('refuses a stream that ends within a frame', () => {
    const [only = Buffer.alloc(0)] = FRAMES
    for (let size = 1; size < only.length; size++) {
      const reader = eventStreamFrames.createReader()
      expect(reader.read(only.subarray(0, size))).to.deep.equal([])
      expect(() => reader.end(), `${size} bytes`).to.throw('incomplete frame')
    }
  })

  // With copies of all earlier bytes for each piece, these are 200 GB: the test would exceed its time.
  it('copies the pieces of a large frame a few times only', () => {
    const large = frame('contentBlockDelta', { delta: { text: 'x'.repeat(20 * 1024 * 1024) } })
    const records = readInPieces(large, 1024)
    expect(records).to.have.length(1)
    expect(records[0]?.data).to.have.length(20 * 1024 * 1024 + '{"delta":{"text":""}}'.length)
  })
})

describe('the reader of the streams of Bedrock', () => {
  it('ignores events that it does not know, whatever they hold', () => {
    const reader = createBedrockStreamReader()
    for (const data of ['', 'no JSON', '{"a":1}'])
      expect(reader.read({ event: 'trace', data })).to.deep.equal([])
    expect(reader.read({ event: 'chunk', data: '{"type":"of_the_future"}' })).to.deep.equal([])
    expect(() => reader.read({ event: 'messageStop', data: 'no JSON' })).to.throw('malformed')
  })
})
