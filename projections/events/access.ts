import { type Author, type Static, StringEnum, Type } from '../../core/contract/index.ts'
import { defineEvent, type EventOf, Id, Time } from '../../core/events/define-event.ts'

/** What operators do besides changes, in one stream. Who did it is the actor of the event. */
export const ACCESS_STREAM = 'access'

const refusedCalls = Type.Object({
  /** The client's address, IPv6 by /64. */
  address: Type.String(),
  /** The error code of the refusals. */
  code: Type.String(),
  /** The endpoint of the first one. */
  endpoint: Type.String(),
  count: Type.Integer(),
})

export type RefusedCalls = Readonly<Static<typeof refusedCalls>>

const accessed = <const Change extends string>(change: Change) => ({ kind: 'access', change }) as const

export const accessEvents = [
  /** The first request of an operator in an hour. */
  defineEvent({
    type: 'OperatorSignedIn',
    schema: Type.Object({}),
    stream: ACCESS_STREAM,
    audit: accessed('signed_in'),
  }),
  /** Somebody signed out of the console. `session` is a hash of the cookie, which nobody can use. */
  defineEvent({
    type: 'SessionEnded',
    schema: Type.Object({ session: Type.String(), expiresAt: Time }),
    stream: ACCESS_STREAM,
    audit: accessed('signed_out'),
  }),
  /** Requests to endpoints for operators that were refused, of one source within a minute. */
  defineEvent({
    type: 'OperatorCallsRefused',
    schema: refusedCalls,
    stream: ACCESS_STREAM,
    audit: accessed('refused'),
  }),
  /** Somebody read what leaves the gateway, or is confidential. */
  defineEvent({
    type: 'DataRead',
    schema: Type.Object({
      read: StringEnum(['export', 'prompts']),
      operation: Type.String(),
      path: Type.String(),
      query: Type.String(),
      userId: Type.Optional(Id),
    }),
    stream: ACCESS_STREAM,
    audit: accessed('read'),
  }),
  defineEvent({
    type: 'PromptsDeleted',
    schema: Type.Object({ userId: Id, prompts: Type.Integer() }),
    stream: ACCESS_STREAM,
    audit: accessed('prompts_deleted'),
  }),
  /** Rated prompts that were imported, and lines that were not. */
  defineEvent({
    type: 'RatingsImported',
    schema: Type.Object({ ratings: Type.Integer(), rejected: Type.Integer() }),
    stream: ACCESS_STREAM,
    audit: accessed('ratings_imported'),
  }),
  defineEvent({
    type: 'ImportedRatingsDeleted',
    schema: Type.Object({ ratings: Type.Integer() }),
    stream: ACCESS_STREAM,
    audit: accessed('ratings_deleted'),
  }),
] as const

export type AccessEvent = EventOf<typeof accessEvents>

/** Called when rated prompts were imported, or deleted. If it rejects, so does the request. */
export type ReportRatingChange = (
  event: Extract<AccessEvent, { type: 'RatingsImported' | 'ImportedRatingsDeleted' }>,
  author: Author,
) => Promise<void>

/**
 * Called with each access to recorded prompts and arguments of calls, before it is answered. If it rejects,
 * the access fails.
 */
export type ReportPromptAccess = (
  access:
    | { readonly type: 'read'; readonly requestId: string; readonly userId: number }
    | { readonly type: 'read_arguments'; readonly callId: string; readonly userId: number }
    | { readonly type: 'deleted'; readonly userId: number; readonly prompts: number },
  author: Author,
) => Promise<void> | void
