import type { Account } from './accounts.ts'
import type { Exchange } from './exchange.ts'

/** A request whose answer has ended, refused ones included. */
export interface EndedRequest {
  /** `req_…`. */
  readonly id: string
  readonly method: string
  /** As the caller wrote it: never a label of a metric. */
  readonly path: string
  /** The pattern that served it, such as `/v1/routing-rules/:id`; undefined when there was none. */
  readonly endpoint: string | undefined
  readonly status: number
  /** The client did not wait for the end. */
  readonly isAborted: boolean
  /** `performance.now()` at arrival and at the end. */
  readonly startedAt: number
  readonly endedAt: number
  /** Undefined when the caller was not known. */
  readonly account: Account | undefined
  /** Undefined on other than inference endpoints, and when the request could not be read. */
  readonly exchange: Exchange | undefined
}

/** Called on the hot path, once per request. */
export type RequestObserver = (request: EndedRequest) => void
