/** What somebody reads that leaves the gateway, or that is confidential. */
export const AUDITED_READS = ['export', 'prompts'] as const

export type AuditedRead = (typeof AUDITED_READS)[number]

/** What operators do besides changes, in one stream. Who did it is the actor of the event. */
export type AccessEvent =
  /** The first request of an operator in an hour. */
  | { type: 'OperatorSignedIn'; data: Readonly<Record<never, never>> }
  /** Requests to endpoints for operators that were refused, of one source within a minute. */
  | { type: 'OperatorCallsRefused'; data: RefusedCalls }
  | { type: 'DataRead'; data: { read: AuditedRead; operation: string; path: string; query: string } }

export type RefusedCalls = {
  /** The client's address, IPv6 by /64. */
  readonly address: string
  /** The error code of the refusals. */
  readonly code: string
  /** The endpoint of the first one. */
  readonly endpoint: string
  readonly count: number
}

export const ACCESS_STREAM = 'access'
