import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ServerUnaryCall } from '@grpc/grpc-js'
import { streamDeletedError, toServiceError } from './errors.ts'
import { parseExpected, parseStreamName } from './messages.ts'
import type { Expected, Store, WriteResult } from './store.ts'

export type DeleteCall = ServerUnaryCall<
  InstanceType<typeof streams.DeleteReq>,
  InstanceType<typeof streams.DeleteResp>
>
export type TombstoneCall = ServerUnaryCall<
  InstanceType<typeof streams.TombstoneReq>,
  InstanceType<typeof streams.TombstoneResp>
>

type Options = NonNullable<ReturnType<(DeleteCall | TombstoneCall)['request']['getOptions']>>

/** Handles `Streams.Delete`. */
export function handleDelete(call: DeleteCall, store: Store, checkAccess: (stream: string) => void) {
  const { stream, expected } = parseOptions(call.request.getOptions(), checkAccess)
  throwUnlessWritten(stream, expected, store.delete(stream, expected))
  return new streams.DeleteResp()
}

/** Handles `Streams.Tombstone`. */
export function handleTombstone(call: TombstoneCall, store: Store, checkAccess: (stream: string) => void) {
  const { stream, expected } = parseOptions(call.request.getOptions(), checkAccess)
  throwUnlessWritten(stream, expected, store.tombstone(stream, expected))
  return new streams.TombstoneResp()
}

function parseOptions(options: Options | undefined, checkAccess: (stream: string) => void) {
  if (!options) throw new Error('options are missing')
  const stream = parseStreamName(options.getStreamIdentifier())
  checkAccess(stream)
  return { stream, expected: parseExpected(options) }
}

function throwUnlessWritten(stream: string, expected: Expected, result: WriteResult): void {
  if (result.type === 'deleted') throw streamDeletedError(stream)
  if (result.type === 'wrong-revision')
    throw toServiceError('wrong-expected-version', {
      'stream-name': stream,
      'expected-version': String(typeof expected === 'number' ? expected : EXPECTED_VERSIONS[expected]),
      'actual-version': String(result.actual),
    })
}

const EXPECTED_VERSIONS = { any: -2, 'no-stream': -1, 'stream-exists': -4 } as const
