import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import {
  type Account,
  type Endpoint,
  type EndpointCall,
  type EndpointResponse,
  GatewayError,
  type Idempotency,
  type JsonObject,
  type MaybePromise,
  Type,
} from '../contract/index.ts'

/** One entity tag of a list, with the comma behind it. */
const ETAG = /\s*(?:W\/)?"([!#-~\x80-\xff]*)"\s*(?:,|$)/y

/** Returns the tags of a list, without quotes; undefined if the list is malformed. */
function parseEtags(list: string): readonly string[] | undefined {
  const etags: string[] = []
  ETAG.lastIndex = 0
  while (ETAG.lastIndex < list.length) {
    const match = ETAG.exec(list)
    if (match === null) return undefined
    etags.push(match[1] ?? '')
  }
  return etags.length === 0 ? undefined : etags
}

/**
 * Throws 412 if a change is not allowed for what has this ETag; undefined: for what does not exist yet.
 * Commands call it when they decide about the change, so that nothing can change in between.
 */
export type Precondition = (etag: string | undefined, what: string) => void

/** Allows every change. */
export const anyRevision: Precondition = () => undefined

/**
 * Parses the conditions of a change: `If-Match` and `If-None-Match`. Tags are compared weakly, because
 * proxies that compress weaken them. Throws 400 if a header is malformed.
 */
export function parsePrecondition(headers: IncomingHttpHeaders): Precondition {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers
  if (ifMatch === undefined && ifNoneMatch === undefined) return anyRevision
  const isAllowed = ifMatch === undefined ? () => true : parseTagList('if-match', ifMatch)
  const isRefused = ifNoneMatch === undefined ? () => false : parseTagList('if-none-match', ifNoneMatch)
  return (etag, what) => {
    if (isAllowed(etag) && !isRefused(etag)) return
    const state = etag === undefined ? 'there is none' : `its ETag is now ${etag}`
    const advice = 'Read it before you repeat the change.'
    const message = `The ${what} is not as the request expects: ${state}. ${advice}`
    throw new GatewayError('revision_mismatch', message)
  }
}

/** Allows changes of this revision only. */
export function onlyRevision(revision: number): Precondition {
  return parsePrecondition({ 'if-match': revisionEtag(revision) })
}

/** Returns whether a list has the tag of what exists. */
function parseTagList(name: string, list: string): (etag: string | undefined) => boolean {
  if (list.trim() === '*') return (etag) => etag !== undefined
  const etags = parseEtags(list)
  if (etags === undefined) {
    const message = `${name} must be an ETag, such as "3", a list of them, or *.`
    throw new GatewayError('invalid_value', message, { param: name })
  }
  return (etag) => etag !== undefined && etags.includes(etag.slice(1, -1))
}

/** True if `If-None-Match` contains the ETag, so that the client has the current content. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  const [current] = parseEtags(etag) ?? []
  return header.trim() === '*' || (current !== undefined && (parseEtags(header)?.includes(current) ?? false))
}

/** The ETag of what counts its changes. */
export function revisionEtag(revision: number): string {
  return `"${revision}"`
}

/** The ETag of what does not count its changes: a hash of how it is shown. */
export function contentEtag(shown: JsonObject): string {
  return `"${createHash('sha256').update(JSON.stringify(shown)).digest('base64url').slice(0, 22)}"`
}

/** The response header of something with an ETag. */
export const etagHeader = (what: string) => ({
  etag: Type.String({ description: `ETag of the ${what}, such as "3".` }),
})

/** The conditions of a change, as request headers. `example`: an `If-Match` that a new one fulfils. */
export const preconditionHeaders = (what: string, example = '"1"') => ({
  'If-Match': Type.Optional(
    Type.String({
      description: `The ETag of the ${what}, a list of ETags, or *. If the ${what} has changed since: 412.`,
      ...(example && { examples: [example] }),
    }),
  ),
  'If-None-Match': Type.Optional(
    Type.String({
      description: `ETags that the ${what} must not have; *: it must not exist. Otherwise 412.`,
      examples: ['"0"'],
    }),
  ),
})

/** The condition of a read, as a request header. */
export const ifNoneMatchHeader = {
  'If-None-Match': Type.Optional(
    Type.String({ description: 'ETags of known content. If one is current: 304.', examples: ['"1"'] }),
  ),
}

export const MAX_REASON_LENGTH = 500

/**
 * Parses the header `x-change-reason`. Throws 400 if it is empty, too long, or has control characters. Node
 * decodes headers as Latin-1, while clients send UTF-8.
 */
export function parseChangeReason(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  const reason = decodeUtf8(String(header)).trim()
  const length = [...reason].length
  if (length > 0 && length <= MAX_REASON_LENGTH && !/\p{Cc}/u.test(reason)) return reason
  const message = `x-change-reason must have 1 to ${MAX_REASON_LENGTH} characters and no control characters.`
  throw new GatewayError('invalid_value', message, { param: 'x-change-reason' })
}

/** Returns the text unchanged if its bytes are not UTF-8. */
function decodeUtf8(latin1: string): string {
  const bytes = Buffer.from(latin1, 'latin1')
  const text = bytes.toString('utf8')
  return text.includes('\ufffd') ? latin1 : text
}

/** Describes the header of endpoints that change something. */
export const changeReasonHeader = {
  'x-change-reason': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_REASON_LENGTH,
      description: 'Why the change is made. Stored with it, and shown in its history and in the audit trail.',
      examples: ['Ticket 4711: contracts must not leave the EU.'],
    }),
  ),
}

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
