import { isJsonObject } from '../../core/contract/json.ts'
import type { ReplyEvent } from '../../core/contract/reply.ts'
import { readFailureRecord } from './read-failure.ts'
import { createResponseReader } from './read-response.ts'

/** Reads a whole reply, which is a stream of one record. Throws a `GatewayError` when the body is anything else. */
export function readReply(body: unknown): ReplyEvent {
  const response = isJsonObject(body) ? body : {}
  if (response.error != null) throw readFailureRecord(response)
  const reader = createResponseReader()
  return { parts: [...reader.read(response), ...reader.end()] }
}
