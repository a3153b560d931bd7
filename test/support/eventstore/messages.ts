/** Builds and parses the protocol's messages. The generated code is CommonJS and has only default exports. */
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ProposedEvent, StoredEvent } from './records.ts'
import { type Expected, MAX_REVISION } from './store.ts'

export const TICKS_PER_MILLISECOND = 10_000n

export const TOMBSTONE_REVISION = '9223372036854775807'

export function parseStreamName(
  identifier: InstanceType<typeof shared.StreamIdentifier> | undefined,
): string {
  return Buffer.from(identifier?.getStreamName_asU8() ?? []).toString()
}

/** What the options of all writes have in common. */
interface ExpectedOptions {
  hasAny(): boolean
  hasNoStream(): boolean
  hasStreamExists(): boolean
}

export function parseExpected(options: ExpectedOptions & { getRevision(): string }): Expected {
  return parseNamedExpected(options) ?? Number(options.getRevision())
}

export function parseBatchExpected(options: ExpectedOptions & { getStreamPosition(): string }): Expected {
  return parseNamedExpected(options) ?? Number(options.getStreamPosition())
}

function parseNamedExpected(options: ExpectedOptions): Exclude<Expected, number> | undefined {
  if (options.hasAny()) return 'any'
  if (options.hasNoStream()) return 'no-stream'
  return options.hasStreamExists() ? 'stream-exists' : undefined
}

export function parseProposed(
  message:
    | InstanceType<typeof streams.AppendReq.ProposedMessage>
    | InstanceType<typeof streams.BatchAppendReq.ProposedMessage>,
): ProposedEvent {
  const metadata = message.getMetadataMap()
  return {
    id: message.getId()?.getString() ?? '',
    type: metadata.get('type') ?? '',
    contentType: metadata.get('content-type') ?? '',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  }
}

export function buildAppended(revision: number, position: number): InstanceType<typeof streams.AppendResp> {
  const serverPosition = new streams.AppendResp.Position()
  serverPosition.setCommitPosition(String(position))
  serverPosition.setPreparePosition(String(position))
  const success = new streams.AppendResp.Success()
  success.setCurrentRevision(String(revision))
  success.setPosition(serverPosition)
  const response = new streams.AppendResp()
  response.setSuccess(success)
  return response
}

export function buildWrongRevision(
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
  const response = new streams.AppendResp()
  response.setWrongExpectedVersion(wrong)
  return response
}

export function buildEvent(event: StoredEvent): InstanceType<typeof streams.ReadResp> {
  const recorded = new streams.ReadResp.ReadEvent.RecordedEvent()
  const id = new shared.UUID()
  id.setString(event.id)
  recorded.setId(id)
  recorded.setStreamIdentifier(buildIdentifier(event.stream))
  recorded.setStreamRevision(event.revision === MAX_REVISION ? TOMBSTONE_REVISION : String(event.revision))
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
  const response = new streams.ReadResp()
  response.setEvent(read)
  return response
}

export function buildStreamNotFound(stream: string): InstanceType<typeof streams.ReadResp> {
  const notFound = new streams.ReadResp.StreamNotFound()
  notFound.setStreamIdentifier(buildIdentifier(stream))
  const response = new streams.ReadResp()
  response.setStreamNotFound(notFound)
  return response
}

export function buildConfirmation(id: string): InstanceType<typeof streams.ReadResp> {
  const confirmation = new streams.ReadResp.SubscriptionConfirmation()
  confirmation.setSubscriptionId(id)
  const response = new streams.ReadResp()
  response.setConfirmation(confirmation)
  return response
}

export function buildCheckpoint(position: number): InstanceType<typeof streams.ReadResp> {
  const checkpoint = new streams.ReadResp.Checkpoint()
  checkpoint.setCommitPosition(String(position))
  checkpoint.setPreparePosition(String(position))
  const response = new streams.ReadResp()
  response.setCheckpoint(checkpoint)
  return response
}

export function buildCaughtUp(): InstanceType<typeof streams.ReadResp> {
  const response = new streams.ReadResp()
  response.setCaughtUp(new streams.ReadResp.CaughtUp())
  return response
}

function buildIdentifier(stream: string): InstanceType<typeof shared.StreamIdentifier> {
  const identifier = new shared.StreamIdentifier()
  identifier.setStreamName(Buffer.from(stream))
  return identifier
}
