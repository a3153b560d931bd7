import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError, type JsonObject, Type } from '../contract/index.ts'

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
