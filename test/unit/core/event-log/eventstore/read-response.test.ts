import streams from '@eventstore/db-client/generated/streams_pb.js'
import { expect } from 'chai'
import { decodeReadResponse } from '../../../../../core/event-log/eventstore/read-response.ts'
import {
  buildCaughtUp,
  buildCheckpoint,
  buildConfirmation,
  buildEvent,
} from '../../../../support/eventstore/messages.ts'

const EVENT = {
  position: 2 ** 41 + 5,
  stream: 'rules-7',
  revision: 300,
  id: '8a3c2f0e-5b1d-4c8e-9f70-112233445566',
  type: 'FirewallRuleCreated',
  contentType: 'application/json',
  data: Buffer.from('{"name":"Grüße 🚦","n":1}'),
  metadata: Buffer.from('{"actor":"x"}'),
  created: 1_700_000_000_000,
}

const encode = (message: { serializeBinary(): Uint8Array }) => Buffer.from(message.serializeBinary())
const decodeEvent = (changes: Partial<typeof EVENT> = {}) =>
  decodeReadResponse(encode(buildEvent({ ...EVENT, ...changes })))

describe('decodeReadResponse', () => {
  it('reads an event', () => {
    expect(decodeEvent()).to.deep.equal({
      streamId: 'rules-7',
      revision: 300,
      type: 'FirewallRuleCreated',
      isJson: true,
      data: '{"name":"Grüße 🚦","n":1}',
      metadata: '{"actor":"x"}',
      commit: 2 ** 41 + 5,
    })
  })

  it('reads the first revision, and events without metadata', () => {
    expect(decodeEvent({ revision: 0, metadata: Buffer.alloc(0) })).to.include({
      revision: 0,
      metadata: '',
    })
  })

  it('reads what other programs write', () => {
    const binary = { contentType: 'application/octet-stream', data: Buffer.from([0, 255]) }
    expect(decodeEvent(binary)).to.include({ isJson: false })
    expect(decodeEvent({ data: Buffer.from('{"cut'), metadata: Buffer.from('x') })).to.include({
      isJson: true,
      data: '{"cut',
      metadata: 'x',
    })
  })

  it('tells the other messages apart', () => {
    expect(decodeReadResponse(encode(buildConfirmation('a')))).to.equal('confirmed')
    expect(decodeReadResponse(encode(buildCaughtUp()))).to.equal('caught-up')
    expect(decodeReadResponse(encode(buildCheckpoint(5)))).to.equal('other')
    const behind = new streams.ReadResp()
    behind.setFellBehind(new streams.ReadResp.FellBehind())
    expect(decodeReadResponse(encode(behind))).to.equal('other')
  })

  it('skips fields that newer servers may add', () => {
    // Field 31 with eight bytes, and with four.
    const unknown = Buffer.from([0xf9, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0xfd, 1, 1, 2, 3, 4])
    const message = Buffer.concat([unknown, encode(buildEvent(EVENT))])

    expect(decodeReadResponse(message)).to.include({ streamId: 'rules-7', revision: 300 })
  })

  it('refuses messages that are cut off', () => {
    const whole = encode(buildEvent(EVENT))

    for (let length = 1; length < whole.length; length++)
      expect(() => decodeReadResponse(whole.subarray(0, length)), `${length} bytes`).to.throw(RangeError)
  })
})
