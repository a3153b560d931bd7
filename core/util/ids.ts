import { customAlphabet } from 'nanoid'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const random17 = customAlphabet(BASE62, 17)
const random24 = customAlphabet(BASE62, 24)
const random43 = customAlphabet(BASE62, 43)

/** Length of a request id in characters. */
const REQUEST_ID_LENGTH = 'req_'.length + 24

/**
 * Returns a new request id: `req_` and 24 base62 characters (docs/api.md, "Identifiers and times"). The first
 * 7 encode the time, the other 17 are random (about 101 bits from a CSPRNG). Ids sort by the millisecond of
 * their creation, so data stored by id stays together on disk.
 */
export function newRequestId(): string {
  return `req_${encodeTime()}${random17()}`
}

/** Returns a request id as of a Unix time in milliseconds. `end`: the last 17 digits, by default random. */
export function requestIdAt(time: number, end = random17()): string {
  return `req_${encodeTime(time)}${end}`
}

/** Returns a new key id: `key_` and 24 base62 characters from a CSPRNG. */
export function newKeyId(): string {
  return `key_${random24()}`
}

/** Returns a new id of an event log: `log_` and 24 base62 characters from a CSPRNG. */
export function newLogId(): string {
  return `log_${random24()}`
}

/** Whether the text has the form of an id of an event log. */
export function isLogId(text: string): boolean {
  return /^log_[0-9A-Za-z]{24}$/.test(text)
}

export const API_KEY_PREFIX = 'tr_'

/** Returns a new API key: `tr_` and 43 base62 characters from a CSPRNG, about 256 bits. */
export function newApiKey(): string {
  return `${API_KEY_PREFIX}${random43()}`
}

/** Returns a new id of an operator: `operator_` and 24 base62 characters from a CSPRNG. */
export function newOperatorId(): string {
  return `operator_${random24()}`
}

/** Returns a new key of an operator: `op_` and 43 base62 characters from a CSPRNG, about 256 bits. */
export function newOperatorKey(): string {
  return `op_${random43()}`
}

/** Returns a new id of a program's sign-in: `grant_` and 24 base62 characters from a CSPRNG. */
export function newGrantId(): string {
  return `grant_${random24()}`
}

/** Returns a new id of a tool call: `call_` and 24 base62 characters. */
export function newCallId(): string {
  return `call_${random24()}`
}

/** Returns one base62 digit for each byte; a few digits are slightly more frequent than others. */
export function toBase62(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => BASE62.charAt(byte % BASE62.length)).join('')
}

/** Returns an id of another kind for the same request, with the same suffix. */
export function relatedId(
  prefix: 'chatcmpl-' | 'cmpl-' | 'modr-' | 'msg_' | 'tr_req_',
  requestId: string,
): string {
  return prefix + requestIdSuffix(requestId)
}

/** Returns the part that all ids of a request share. */
export function requestIdSuffix(requestId: string): string {
  return requestId.slice('req_'.length)
}

const REQUEST_ID = new RegExp(`^req_[0-9A-Za-z]{${REQUEST_ID_LENGTH - 'req_'.length}}$`)

/**
 * Returns when a request with this id arrived, as a Unix time in milliseconds; undefined for a text that is
 * not a request id.
 */
export function timeOfRequestId(requestId: string): number | undefined {
  return REQUEST_ID.test(requestId) ? decodeBase62(requestId.slice(4, 11)) : undefined
}

/** Returns the number that base62 digits encode. */
export function decodeBase62(digits: string): number {
  let value = 0
  for (let index = 0; index < digits.length; index++) value = value * 62 + digitOf(digits.charCodeAt(index))
  return value
}

/** The value of a digit by its character code: 0-9, A-Z, a-z. */
function digitOf(code: number): number {
  if (code < 58) return code - 48
  return code < 91 ? code - 55 : code - 61
}

let lastTime = Number.NaN
let lastEncoded = ''

/**
 * A Unix time in milliseconds, by default now, as 7 base62 digits; enough until 2081. Cached, because many
 * requests arrive within a millisecond.
 */
function encodeTime(time = Date.now()): string {
  if (time !== lastTime) {
    lastTime = time
    lastEncoded = ''
    for (let rest = time; lastEncoded.length < 7; rest = Math.floor(rest / 62))
      lastEncoded = BASE62.charAt(rest % 62) + lastEncoded
  }
  return lastEncoded
}
