/** The protocol's messages, made and read. The generated code is CommonJS, so it comes as a whole. */
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { Expected, ProposedEvent, StoredEvent } from './store.ts'

const TICKS_PER_MILLISECOND = 10_000n

export function readStreamName(identifier: InstanceType<typeof shared.StreamIdentifier> | undefined): string {
  return Buffer.from(identifier?.getStreamName_asU8() ?? []).toString()
}

export function readExpected(options: InstanceType<typeof streams.AppendReq.Options>): Expected {
  if (options.hasAny()) return 'any'
  if (options.hasNoStream()) return 'no-stream'
  if (options.hasStreamExists()) return 'stream-exists'
  return Number(options.getRevision())
}

export function readProposed(message: InstanceType<typeof streams.AppendReq.ProposedMessage>): ProposedEvent {
  const metadata = message.getMetadataMap()
  return {
    id: message.getId()?.getString() ?? '',
    type: metadata.get('type') ?? '',
    contentType: metadata.get('content-type') ?? '',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  }
}

export function writeAppended(revision: number, position: number): InstanceType<typeof streams.AppendResp> {
  const place = new streams.AppendResp.Position()
  place.setCommitPosition(String(position))
  place.setPreparePosition(String(position))
  const success = new streams.AppendResp.Success()
  success.setCurrentRevision(String(revision))
  success.setPosition(place)
  const answer = new streams.AppendResp()
  answer.setSuccess(success)
  return answer
}

export function writeWrongRevision(
  expected: Expected,
  actual: number,
): InstanceType<typeof streams.AppendResp> {
  const wrong = new streams.AppendResp.WrongExpectedVersion()
  if (actual === -1) wrong.setCurrentNoStream(new shared.Empty())
  else wrong.setCurrentRevision(String(actual))
  if (expected === 'any') wrong.setExpectedAny(new shared.Empty())
  else if (expected === 'no-stream') wrong.setExpectedNoStream(new shared.Empty())
  else if (expected === 'stream-exists') wrong.setExpectedStreamExists(new shared.Empty())
  else wrong.setExpectedRevision(String(expected))
  const answer = new streams.AppendResp()
  answer.setWrongExpectedVersion(wrong)
  return answer
}

export function writeEvent(event: StoredEvent): InstanceType<typeof streams.ReadResp> {
  const recorded = new streams.ReadResp.ReadEvent.RecordedEvent()
  const id = new shared.UUID()
  id.setString(event.id)
  recorded.setId(id)
  recorded.setStreamIdentifier(writeIdentifier(event.stream))
  recorded.setStreamRevision(String(event.revision))
  recorded.setCommitPosition(String(event.position))
  recorded.setPreparePosition(String(event.position))
  recorded
    .getMetadataMap()
    .set('type', event.type)
    .set('content-type', event.contentType)
    .set('created', String(BigInt(event.created) * TICKS_PER_MILLISECOND))
  recorded.setData(event.data)
  recorded.setCustomMetadata(event.metadata)
  const read = new streams.ReadResp.ReadEvent()
  read.setEvent(recorded)
  read.setCommitPosition(String(event.position))
  const answer = new streams.ReadResp()
  answer.setEvent(read)
  return answer
}

export function writeStreamNotFound(stream: string): InstanceType<typeof streams.ReadResp> {
  const notFound = new streams.ReadResp.StreamNotFound()
  notFound.setStreamIdentifier(writeIdentifier(stream))
  const answer = new streams.ReadResp()
  answer.setStreamNotFound(notFound)
  return answer
}

export function writeConfirmation(id: string): InstanceType<typeof streams.ReadResp> {
  const confirmation = new streams.ReadResp.SubscriptionConfirmation()
  confirmation.setSubscriptionId(id)
  const answer = new streams.ReadResp()
  answer.setConfirmation(confirmation)
  return answer
}

export function writeCheckpoint(position: number): InstanceType<typeof streams.ReadResp> {
  const checkpoint = new streams.ReadResp.Checkpoint()
  checkpoint.setCommitPosition(String(position))
  checkpoint.setPreparePosition(String(position))
  const answer = new streams.ReadResp()
  answer.setCheckpoint(checkpoint)
  return answer
}

export function writeCaughtUp(): InstanceType<typeof streams.ReadResp> {
  const answer = new streams.ReadResp()
  answer.setCaughtUp(new streams.ReadResp.CaughtUp())
  return answer
}

function writeIdentifier(stream: string): InstanceType<typeof shared.StreamIdentifier> {
  const identifier = new shared.StreamIdentifier()
  identifier.setStreamName(Buffer.from(stream))
  return identifier
}
