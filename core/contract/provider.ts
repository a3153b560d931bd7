import type { ChatRequest } from './chat.ts'
import type { GatewayError } from './errors.ts'
import type { Model } from './model.ts'
import type { ReplyEvent } from './reply.ts'

/** Where a request goes. `entry` is the catalogue's row; without it the name is passed to the vendor as it stands. */
export interface Target {
  readonly provider: string
  readonly model: string
  /** The name by which the model was asked for, where that is another. */
  readonly alias?: string
  readonly entry?: Model
}

/** The HTTP request to a vendor, relative to its base URL. */
export interface ProviderRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Request fields that the target cannot take and that were left out; the caller is warned. */
  readonly omitted: readonly string[]
}

/** One SSE record; `event` is empty where the vendor names none. */
export interface SseEvent {
  readonly event: string
  readonly data: string
}

/** Reads one vendor stream, record by record. It keeps state: one reader per reply. */
export interface StreamReader {
  /** True once the vendor has said that the reply is complete. Left out where only the end of the bytes says so. */
  isDone?(): boolean
  /** Throws a `GatewayError` on a record that reports a failure. */
  read(event: SseEvent): readonly ReplyEvent[]
  /** Called at the end of the bytes. Throws a `GatewayError` when the vendor stopped before it was done. */
  end(): readonly ReplyEvent[]
}

/** A vendor's wire format. Pure: values in, values out; the network is elsewhere. */
export interface ProviderAdapter {
  /** The format's name, such as `openai`. */
  readonly format: string
  buildRequest(request: ChatRequest, target: Target, apiKey: string): ProviderRequest
  /** Reads the parsed JSON of a whole reply; throws a `GatewayError` when it is not one. */
  parseReply(body: unknown): ReplyEvent
  createStreamReader(): StreamReader
  /** Turns an answer other than 2xx into the error that the client gets. `body` is at most a few KB of text. */
  parseError(failure: ProviderErrorResponse): GatewayError
}

export interface ProviderErrorResponse {
  readonly provider: string
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}
