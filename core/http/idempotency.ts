import { createHash } from 'node:crypto'
import {
  type Account,
  type Endpoint,
  type EndpointCall,
  type EndpointResponse,
  GatewayError,
  type Idempotency,
  type MaybePromise,
  Type,
} from '../contract/index.ts'

/** Where the events are that a request with an `Idempotency-Key` appended. */
export interface AppliedChange {
  readonly stream: string
  /** Revision of the first event. The others follow it, with the same key in their metadata. */
  readonly revision: number
}

/** What the event log knows about a request with an `Idempotency-Key`. */
export interface KnownRequest extends Idempotency {
  /** The first of the ids that were reserved for the request. */
  readonly firstId?: number
  /** Undefined if the request has not changed anything yet. */
  readonly change?: AppliedChange
}

/** Finds a request of the last 24 hours by the hash of its key. */
export type FindKnownRequest = (key: string) => KnownRequest | undefined

/**
 * An endpoint whose requests clients may repeat with the same `Idempotency-Key`. `replay` answers a request
 * that has changed something before, as it was answered then.
 */
export interface RepeatableEndpoint extends Endpoint {
  replay(call: EndpointCall, change: AppliedChange): MaybePromise<EndpointResponse>
}

/** Makes an endpoint repeatable, and describes its header and error. */
export function repeatable(
  endpoint: Endpoint,
  replay: (call: EndpointCall, change: AppliedChange) => MaybePromise<EndpointResponse>,
): RepeatableEndpoint {
  const headers = { ...endpoint.headers, ...idempotencyKeyHeader }
  const errors = [...(endpoint.errors ?? []), 'idempotency_key_reused']
  // Not a copy: other properties of an endpoint may be getters.
  return Object.assign(endpoint, { headers, errors, replay })
}

export function isRepeatable(endpoint: Endpoint): endpoint is RepeatableEndpoint {
  return 'replay' in endpoint
}

/** The user who sent a request to an endpoint for users. */
export function callerOf({ account }: EndpointCall): Account {
  if (account === undefined) throw new TypeError('the endpoint is not for users')
  return account
}

const idempotencyKeyHeader = {
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'A unique value of your choice. A request that is repeated with it within 24 hours changes nothing ' +
        'more and returns the first answer, with the header idempotent-replayed.',
      examples: ['6f1c2a52-4a0e-4f5e-9a3c-1f0f0f6b7b11'],
    }),
  ),
}

/** The parts of a request that must be the same in a repetition. */
interface RequestContent {
  readonly method: string
  readonly path: string
  readonly ifMatch: string | undefined
  readonly body: unknown
}

/** Parses the header. Throws 400 if it is not 1 to 255 printable ASCII characters. */
export function parseIdempotency(
  header: string | string[] | undefined,
  caller: string,
  content: RequestContent,
): Idempotency | undefined {
  if (header === undefined) return undefined
  if (typeof header !== 'string' || !/^[!-~]{1,255}$/.test(header)) {
    const message = 'Idempotency-Key must have 1 to 255 printable ASCII characters without spaces.'
    throw new GatewayError('invalid_value', message, { param: 'idempotency-key' })
  }
  const { method, path, ifMatch = '', body } = content
  return {
    key: hash([caller, header]),
    request: hash([method, path, ifMatch, JSON.stringify(body) ?? '']),
  }
}

function hash(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** Returns what the request has changed before. Throws 422 if its key was used for another request. */
export function findAppliedChange(
  { key, request }: Idempotency,
  find: FindKnownRequest,
): AppliedChange | undefined {
  const known = find(key)
  if (known === undefined || known.request === request) return known?.change
  const message =
    'This Idempotency-Key was used for another request within the last 24 hours. Use a new key for each ' +
    'change.'
  throw new GatewayError('idempotency_key_reused', message, { param: 'idempotency-key' })
}

/** Thrown instead of repeating a change that another request with the same key has made. */
export class AppliedBeforeError extends Error {
  readonly change: AppliedChange

  constructor(change: AppliedChange) {
    super(`the request was applied before, in stream ${change.stream} at revision ${change.revision}`)
    this.name = 'AppliedBeforeError'
    this.change = change
  }
}
