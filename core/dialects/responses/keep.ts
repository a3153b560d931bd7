import type { JsonObject } from '../../contract/index.ts'
import type { Pace } from '../../events/responses.ts'

/**
 * Makes a response that has ended durable, where its caller wants it kept, and gives it as it is to be answered. Never rejects:
 * an answer that cannot be kept says so.
 */
export type Keep = (response: JsonObject, pace?: Pace) => Promise<JsonObject>
