import type { DefaultState } from 'koa'
import type { ChatRequest, Reply } from './chat.ts'
import type { GatewayError } from './errors.ts'
import type { EndedExchange, RepliedExchange, Warning } from './exchange.ts'
import type { EndpointDescription, ErrorStyle, GatewayContext } from './http.ts'
import type { JsonObject } from './json.ts'
import type { Operation } from './provider.ts'

/** A request whose body is read, for parsers. */
export type RequestContext = Pick<
  GatewayContext,
  'requestId' | 'startedAt' | 'client' | 'headers' | 'state' | 'account' | 'endpoint' | 'traceId'
>

/** A client format: parses requests to the canonical form, and formats replies and errors. */
export interface Dialect {
  /** Throws a `GatewayError` (400) that names the invalid parameter. */
  parseRequest(body: JsonObject, ctx: RequestContext): ChatRequest | Promise<ChatRequest>
  /** Returns the models to try before automatic routing, best first. */
  parsePreferences?(body: JsonObject): readonly string[]
  /** What requests ask a model for. Default: `chat`. */
  readonly operation?: Operation
  /** Returns a new list of warnings about what is asked for and no model gets. The body was parsed before. */
  parseWarnings?(body: JsonObject): Warning[]
  /** Names of request fields that the endpoint fills in when the caller omits them. */
  readonly defaults?: readonly string[]
  /**
   * Values of optional request fields that models get if the caller omits them, if the catalogue says that
   * they take them. Routing does not see them. They are listed in `defaults`, too.
   */
  readonly sentDefaults?: RepliedExchange['sentDefaults']
  /** The caller's names of request fields whose names in the canonical form are others. */
  readonly parameterNames?: Readonly<Record<string, string>>
  /**
   * Returns the request that is measured and sent, from the one that the rules have decided about. Default:
   * the same. `state` is that of the exchange.
   */
  toSentRequest?(request: ChatRequest, state: DefaultState): ChatRequest
  /** Returns the reply to a request that needs no model. It is asked for once rules have decided. */
  answer?(exchange: EndedExchange): Reply | undefined
  /**
   * Returns where the caller wrote what has this path in the canonical request. `body` is the request as it
   * was received. Default: the same path.
   */
  toCallerPath?(path: string, exchange: EndedExchange, body: JsonObject): string
  /** Returns the response body of a complete reply, as an object or as its JSON text. */
  writeWhole(exchange: RepliedExchange, ctx: GatewayContext): JsonObject | string | Promise<JsonObject>
  /**
   * Yields complete SSE records, several per string if they arrived together. If the reply fails, ends with
   * an error record instead of throwing.
   */
  writeStream(exchange: RepliedExchange, ctx: GatewayContext): AsyncIterable<string>
  /**
   * The format has an event that ends a failed stream, so its response ends as others do. Default: it ends
   * without the last chunk of the body.
   */
  readonly hasErrorEvent?: true
  /**
   * Returns the records of a stream that has nothing but an error, where clients of the format look for the
   * error in a stream only. Default: the error is answered with its status.
   */
  writeStreamedError?(error: GatewayError, exchange: EndedExchange): string | undefined
  /** SSE text that keeps the connection of a silent stream open. Default: a comment. */
  readonly keepAlive?: string
  readonly errorStyle: ErrorStyle
  /** Describes the endpoint in `/openapi.json`. */
  readonly description?: InferenceDescription
}

/** The parts of an inference endpoint's OpenAPI description that do not follow from its path. */
export type InferenceDescription = Pick<
  EndpointDescription,
  | 'operationId'
  | 'summary'
  | 'description'
  | 'tags'
  | 'headers'
  | 'body'
  | 'examples'
  | 'responses'
  | 'listener'
>
