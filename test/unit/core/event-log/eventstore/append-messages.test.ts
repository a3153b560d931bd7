import { UnavailableError } from '@eventstore/db-client'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import { expect } from 'chai'
import {
  type AppendRequest,
  decodeAppendResponse,
  encodeAppendRequest,
} from '../../../../../core/event-log/eventstore/append-messages.ts'

const ID = '00000000-0000-4000-8000-00000000002a'

const eventOf = (data: string, metadata = '{}') => ({ id: ID, type: 'Written', data, metadata })

/** Encodes with the client's generated code. */
function encodeGenerated({ id, stream, events, expected }: AppendRequest): Buffer {
  const uuid = (text: string) => new shared.UUID().setString(text)
  const options = new streams.BatchAppendReq.Options()
  options.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(stream)))
  if (expected === 'any') options.setAny(new shared.Empty())
  else if (expected === -1) options.setNoStream(new shared.Empty())
  else options.setStreamPosition(String(expected))
  const request = new streams.BatchAppendReq()
  request.setCorrelationId(uuid(id))
  request.setOptions(options)
  for (const event of events) {
    const message = new streams.BatchAppendReq.ProposedMessage()
    message.setId(uuid(event.id))
    message.getMetadataMap().set('type', event.type).set('content-type', 'application/json')
    message.setData(Buffer.from(event.data))
    message.setCustomMetadata(Buffer.from(event.metadata))
    request.addProposedMessages(message)
  }
  request.setIsFinal(true)
  return Buffer.from(request.serializeBinary())
}

describe('encodeAppendRequest', () => {
  const cases: Readonly<Record<string, Omit<AppendRequest, 'id'>>> = {
    'at a revision': { stream: 'rules-1', expected: 300, events: [eventOf('{"name":"Grüße 🚦"}')] },
    'at revision 0': { stream: 'rules-1', expected: 0, events: [eventOf('{}')] },
    'at a large revision': { stream: 'ids', expected: 2 ** 40, events: [eventOf('{}')] },
    'that expects no stream': { stream: 'user-1', expected: -1, events: [eventOf('{}')] },
    'at any revision': { stream: 'access', expected: 'any', events: [eventOf('{}')] },
    'of several events': { stream: 'x', expected: 1, events: [eventOf('{"a":1}'), eventOf('{"b":2}')] },
  }
  for (const [kind, request] of Object.entries(cases)) {
    it(`encodes an append ${kind}`, () => {
      const bytes = encodeAppendRequest({ id: ID, ...request })

      expect(streams.BatchAppendReq.deserializeBinary(bytes).toObject()).to.deep.equal(
        streams.BatchAppendReq.deserializeBinary(encodeGenerated({ id: ID, ...request })).toObject(),
      )
    })
  }

  it('encodes events of every size as generated code does', () => {
    for (const size of [1, 50, 127, 128, 129, 16_200, 16_383, 16_384, 16_500, 300_000, 2_100_000]) {
      const request = { id: ID, stream: 's', expected: 5, events: [eventOf('x'.repeat(size)), eventOf('{}')] }

      expect(encodeAppendRequest(request).equals(encodeGenerated(request)), `${size}`).to.equal(true)
    }
  })
})

describe('decodeAppendResponse', () => {
  const uuid = new shared.UUID().setString(ID)

  it('reads where the events were written', () => {
    const position = new shared.AllStreamPosition().setCommitPosition(String(2 ** 45)).setPreparePosition('1')
    const success = new streams.BatchAppendResp.Success().setCurrentRevision('7').setPosition(position)
    const response = new streams.BatchAppendResp().setCorrelationId(uuid).setSuccess(success)

    expect(decodeAppendResponse(Buffer.from(response.serializeBinary()))).to.deep.equal({
      id: ID,
      answer: { revision: 7, position: 2 ** 45 },
      error: undefined,
    })
  })

  it('reads ids as two integers, which servers may answer with', () => {
    const structured = new shared.UUID.Structured()
    structured.setMostSignificantBits('16384').setLeastSignificantBits(String(-(2n ** 63n) + 42n))
    const success = new streams.BatchAppendResp.Success().setCurrentRevision('7')
    const response = new streams.BatchAppendResp().setSuccess(success)
    response.setCorrelationId(new shared.UUID().setStructured(structured))

    const { id, answer } = decodeAppendResponse(Buffer.from(response.serializeBinary()))
    expect(id).to.equal(ID)
    expect(answer).to.deep.equal({ revision: 7, position: undefined })
  })

  it('reads a response without a position', () => {
    const success = new streams.BatchAppendResp.Success().setCurrentRevision('0')
    success.setNoPosition(new shared.Empty())
    const response = new streams.BatchAppendResp().setCorrelationId(uuid).setSuccess(success)

    const { answer } = decodeAppendResponse(Buffer.from(response.serializeBinary()))
    expect(answer).to.deep.equal({ revision: 0, position: undefined })
  })

  it('tells errors without details from a server that is not ready', () => {
    // Status {message: "odd"}, without details.
    const response = Buffer.from([0x0a, 0x03, 0x12, 0x01, 0x61, 0x12, 0x05, 0x12, 0x03, 0x6f, 0x64, 0x64])
    const { id, error } = decodeAppendResponse(response)

    expect(id).to.equal('a')
    expect(error).to.include({ type: 'unknown', message: 'odd' }).and.not.be.instanceOf(UnavailableError)
  })
})
