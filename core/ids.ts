import { customAlphabet } from 'nanoid'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const random24 = customAlphabet(BASE62, 24)
const random43 = customAlphabet(BASE62, 43)

/** Of `req_…`, in characters. */
export const REQUEST_ID_LENGTH = 'req_'.length + 24

/** A new identifier: the prefix, then 24 characters of base62 from a CSPRNG (decisions: "ids"). */
export function newId(prefix: 'req_' | 'key_'): string {
  return prefix + random24()
}

/** Another identifier of the same request: what belongs together shows. */
export function sameId(prefix: 'chatcmpl-' | 'tr_req_', requestId: string): string {
  return prefix + requestId.slice('req_'.length)
}

/** A new API key: `tr_` and 43 characters of base62, a little over 256 bits. */
export function newApiKey(): string {
  return `tr_${random43()}`
}
