import type { IncomingHttpHeaders } from 'node:http'
import type { SseEvent } from '../../core/contract/index.ts'
import type { ModelReply, ModelRequest } from './model-request.ts'

/** How one provider writes what the sandbox says. Pure: values in, values out. */
export interface WireFormat {
  /** First segment of its paths. */
  readonly name: string
  /** How it ends the lines of a stream; `\n` when left out. */
  readonly newline?: '\r\n'
  /** What a path asks for; `path` starts after the name, here and below. */
  findEndpoint(method: string, path: string): 'chat' | 'models' | undefined
  /** The API key of a request, empty when there is none. */
  getApiKey(headers: IncomingHttpHeaders): string
  /** Throws a `Refusal` for a body that the provider would not take. */
  parseCall(path: string, body: unknown, headers: IncomingHttpHeaders): ChatCall
  buildModelList(): string
  toErrorBody(refusal: SandboxError): string
  /** An error in the middle of a stream. */
  toErrorEvent(refusal: SandboxError): SseEvent
}

/** One chat request, with what it takes to write its answer. */
export interface ChatCall {
  readonly request: ModelRequest
  readonly isStream: boolean
  toBody(answer: ModelReply): string
  toStream(answer: ModelReply): StreamEvents
}

/** The records of a stream: what is said, then what says that it is over. */
export interface StreamEvents {
  readonly content: readonly SseEvent[]
  readonly closing: readonly SseEvent[]
}

/** An error answer of the sandbox, before a format gives it the provider's shape. */
export class SandboxError extends Error {
  readonly status: number
  readonly details: SandboxErrorDetails

  constructor(status: number, message: string, details: SandboxErrorDetails = {}) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.details = details
  }
}

interface SandboxErrorDetails {
  /** The provider's code; each format has its own for a status when left out. */
  readonly code?: string | undefined
  /** The request field at fault. */
  readonly param?: string
}
