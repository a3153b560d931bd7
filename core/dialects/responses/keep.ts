import type { JsonObject } from '../../contract/index.ts'
import type { ChunkLengths } from '../../events/responses.ts'

/**
 * Makes a response that has ended durable, where its caller wants it kept, and gives it as it is to be answered. Never rejects:
 * an answer that cannot be kept says so.
 */
export type PersistResponse = (response: JsonObject, pace?: ChunkLengths) => Promise<JsonObject>
