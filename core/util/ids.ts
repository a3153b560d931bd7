import { customAlphabet } from 'nanoid'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const random17 = customAlphabet(BASE62, 17)
const random24 = customAlphabet(BASE62, 24)
const random43 = customAlphabet(BASE62, 43)

/** Of `req_…`, in characters. */
export const REQUEST_ID_LENGTH = 'req_'.length + 24

/**
 * A new request's id: `req_`, then 24 characters of base62 (docs/api.md, "Identifiers and times"), 7 of them the time and 17, some 101 bits, from a CSPRNG.
 * Ids sort by the millisecond in which they were made: what is stored under them lies side by side on the disk.
 */
export function newRequestId(): string {
  return `req_${instant()}${random17()}`
}

/** A new key's id: `key_` and 24 characters of base62 from a CSPRNG. */
export function newKeyId(): string {
  return `key_${random24()}`
}

let lastTime = Number.NaN
let lastInstant = ''

/** The time in milliseconds since 1970, in 7 digits of base62 until 2081. Many requests come in one millisecond. */
function instant(): string {
  const time = Date.now()
  if (time !== lastTime) {
    lastTime = time
    lastInstant = ''
    for (let rest = time; lastInstant.length < 7; rest = Math.floor(rest / 62))
      lastInstant = BASE62.charAt(rest % 62) + lastInstant
  }
  return lastInstant
}

/** Another identifier of the same request: what belongs together shows. */
export function relatedId(prefix: 'chatcmpl-' | 'tr_req_', requestId: string): string {
  return prefix + requestIdSuffix(requestId)
}

/** What all identifiers of a request share. */
export function requestIdSuffix(requestId: string): string {
  return requestId.slice('req_'.length)
}

/** A new API key: `tr_` and 43 characters of base62, a little over 256 bits. */
export function newApiKey(): string {
  return `tr_${random43()}`
}
