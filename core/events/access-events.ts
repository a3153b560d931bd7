import type { Author } from '../contract/index.ts'

/** What somebody reads that leaves the gateway, or that is confidential. */
export const AUDITED_READS = ['export', 'prompts'] as const

export type AuditedRead = (typeof AUDITED_READS)[number]

/** What operators do besides changes, in one stream. Who did it is the actor of the event. */
export type AccessEvent =
  /** The first request of an operator in an hour. */
  | { type: 'OperatorSignedIn'; data: Readonly<Record<never, never>> }
  /** Somebody signed out of the console. `session` is a hash of the cookie, which nobody can use. */
  | { type: 'SessionEnded'; data: { session: string; expiresAt: string } }
  /** Requests to endpoints for operators that were refused, of one source within a minute. */
  | { type: 'OperatorCallsRefused'; data: RefusedCalls }
  | {
      type: 'DataRead'
      data: { read: AuditedRead; operation: string; path: string; query: string; userId?: number }
    }
  | { type: 'PromptsDeleted'; data: { userId: number; prompts: number } }
  /** Rated prompts that were imported, and lines that were not. */
  | { type: 'RatingsImported'; data: { ratings: number; rejected: number } }
  | { type: 'ImportedRatingsDeleted'; data: { ratings: number } }

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

/** Called when rated prompts were imported, or deleted. If it rejects, so does the request. */
export type ReportRatingChange = (
  event: Extract<AccessEvent, { type: 'RatingsImported' | 'ImportedRatingsDeleted' }>,
  author: Author,
) => Promise<void>

/** Called with each access to recorded prompts, before it is answered. If it rejects, the access fails. */
export type ReportPromptAccess = (
  access:
    | { readonly type: 'read'; readonly requestId: string; readonly userId: number }
    | { readonly type: 'deleted'; readonly userId: number; readonly prompts: number },
  author: Author,
) => Promise<void> | void
