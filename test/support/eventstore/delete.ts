import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ServerUnaryCall } from '@grpc/grpc-js'
import { parseStreamName } from './messages.ts'
import type { Store } from './store.ts'

type DeleteReq = InstanceType<typeof streams.DeleteReq>
type DeleteResp = InstanceType<typeof streams.DeleteResp>
export type DeleteCall = ServerUnaryCall<DeleteReq, DeleteResp>

/** Handles `Streams.Delete`. */
export function handleDelete(call: DeleteCall, store: Store): DeleteResp {
  store.delete(parseStreamName(call.request.getOptions()?.getStreamIdentifier()))
  return new streams.DeleteResp()
}
