import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject, SseEvent } from '../../../core/contract/index.ts'
import type { ModelReply } from './model-reply.ts'
import type { ModelRequest } from './model-request.ts'

/** The wire format of one provider. All functions are pure. In `path` the leading `/<name>` is removed. */
export interface WireFormat {
  /** The first path segment of its endpoints. */
  readonly name: string
  /** The line ending of its streams. Default: `\n`. */
  readonly newline?: '\r\n'
  /** `chat` for everything that a model answers. Undefined for an unknown endpoint. */
  findEndpoint(method: string, path: string): 'chat' | 'models' | undefined
  /** Returns the API key of a request, or an empty string if it has none. */
  getApiKey(headers: IncomingHttpHeaders): string
  /** Parses a chat request. Throws a `SandboxError` if the provider would reject it. */
  parseCall(path: string, body: unknown, headers: IncomingHttpHeaders): ChatCall
  /** Returns the response body of the models endpoint. */
  buildModelList(): string
  toErrorBody(error: SandboxError): string
  /** Encodes an error that occurs in the middle of a stream. */
  toErrorEvent(error: SandboxError): SseEvent
}

/** A parsed chat request and the encoders for its reply. */
export interface ChatCall {
  readonly request: ModelRequest
  readonly isStream: boolean
  /**
   * Throws a `SandboxError` (400) if the reasoning of a reply with tool calls was not sent back. Undefined
   * for what does not reason.
   */
  checkReasoning?(): void
  toBody(reply: ModelReply): string
  toStream(reply: ModelReply): StreamEvents
}

/** The events of a stream: the reply itself, then the events that mark its end. */
export interface StreamEvents {
  readonly content: readonly SseEvent[]
  readonly closing: readonly SseEvent[]
}

/** Encodes JSON as an event without a name. */
export function toDataEvent(data: JsonObject): SseEvent {
  return { event: '', data: JSON.stringify(data) }
}

/** An error response, independent of the provider's wire format. */
export class SandboxError extends Error {
  /** The HTTP status. */
  readonly status: number
  readonly details: SandboxErrorDetails

  constructor(status: number, message: string, details: SandboxErrorDetails = {}) {
    super(message)
    this.name = 'SandboxError'
    this.status = status
    this.details = details
  }
}

interface SandboxErrorDetails {
  /** The provider's error code. Default: the wire format's code for the status. */
  readonly code?: string | undefined
  /** The request field that caused the error. */
  readonly param?: string
}
