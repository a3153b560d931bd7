import type { ChatRequest, Exchange, GatewayError, JsonObject } from '../contract/index.ts'

/** A client's format: reads requests into the canonical form, writes replies and errors back. */
export interface Dialect {
  /** Throws 400 naming the parameter at fault. */
  readRequest(body: JsonObject): ChatRequest
  /** Models to try before the automatic choice, best first. */
  readPreferences?(body: JsonObject): readonly string[]
  writeWhole(exchange: Exchange): JsonObject
  /** Whole SSE records, several in one text when they arrived together. Ends with an error record instead of throwing. */
  writeStream(exchange: Exchange): AsyncIterable<string>
  errorBody(error: GatewayError): JsonObject
}
