import { GatewayError } from '../contract/index.ts'

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

/** The revisions that `If-Match` allows; `any` for `*` and without the header. */
export type ExpectedRevisions = readonly number[] | 'any'

/**
 * Parses `If-Match`. Tags are compared weakly, because proxies that compress weaken them. Throws 400 if the
 * header is malformed. Tags of another form match no revision.
 */
export function parseIfMatch(header: string | undefined): ExpectedRevisions {
  if (header === undefined || header.trim() === '*') return 'any'
  const etags = parseEtags(header)
  if (etags === undefined) {
    const message = 'If-Match must be the ETag of the rule, such as "3", a list of them, or *.'
    throw new GatewayError('invalid_value', message, { param: 'if-match' })
  }
  return etags.filter((etag) => /^\d{1,15}$/.test(etag)).map(Number)
}

/** True if `If-None-Match` contains the ETag, so that the client has the current content. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  const [current] = parseEtags(etag) ?? []
  return header.trim() === '*' || (current !== undefined && (parseEtags(header)?.includes(current) ?? false))
}
