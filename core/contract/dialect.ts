import type { ChatRequest } from './chat.ts'
import type { GatewayContext } from './context.ts'
import type { GatewayError } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { JsonObject } from './json.ts'

/** A client's format: reads requests into the canonical form, writes replies and errors back. */
export interface Dialect {
  /** Throws 400 naming the parameter at fault. */
  parseRequest(body: JsonObject, ctx: GatewayContext): ChatRequest | Promise<ChatRequest>
  /** Models to try before the automatic choice, best first. */
  parsePreferences?(body: JsonObject): readonly string[]
  /** Request fields that the endpoint fills in where the caller left them out. */
  readonly defaults?: readonly string[]
  /** The body, or its JSON. */
  writeWhole(exchange: Exchange, ctx: GatewayContext): JsonObject | string | Promise<JsonObject>
  /** Whole SSE records, several in one text when they arrived together. Ends with an error record instead of throwing. */
  writeStream(exchange: Exchange, ctx: GatewayContext): AsyncIterable<string>
  errorBody(error: GatewayError): JsonObject
}
