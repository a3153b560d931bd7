import { createHash } from 'node:crypto'
import { errorMessage } from '../util/error-message.ts'

/** A key of `RECORD_KEY`. */
export interface EncryptionKey {
  readonly id: string
  /** 32 bytes. */
  readonly key: Uint8Array
}

const KEY_BYTES = 32

const HOW_TO_MAKE_ONE = 'make one with "openssl rand -base64 32"'

const KEY_ID = /^[A-Za-z0-9._-]{1,32}$/

/**
 * Parses RECORD_KEY: a key, or several as `id:key,id:key`, of which the first encrypts. Keys are 32 bytes in
 * base64 or hexadecimal. Throws an error that says what to do and shows nothing of a key.
 */
export function parseEncryptionKeys(text: string): readonly EncryptionKey[] {
  const keys = text.split(',').map((entry) => parseEntry(entry.trim()))
  if (new Set(keys.map(({ id }) => id)).size < keys.length)
    throw new Error('must not have the same key id twice')
  return keys
}

function parseEntry(entry: string): EncryptionKey {
  const colon = entry.indexOf(':')
  const key = decodeKey(entry.slice(colon + 1))
  if (key === undefined)
    throw new Error(`must be 32 bytes in base64 or hexadecimal, or a list id:key,id:key; ${HOW_TO_MAKE_ONE}`)
  const id = colon === -1 ? fingerprintOf(key) : entry.slice(0, colon)
  if (KEY_ID.test(id)) return { id, key }
  throw new Error('must have key ids of at most 32 letters, digits, dots, hyphens and underscores')
}

function decodeKey(text: string): Uint8Array | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  if (!/^[\w+/-]{43}=?$/.test(text)) return undefined
  const key = Buffer.from(text, 'base64')
  return key.length === KEY_BYTES ? key : undefined
}

/** The id of a key without one. See docs/decisions/prompt-recording.md, "A key is named in each record". */
export function fingerprintOf(key: Uint8Array): string {
  return `sha256-${createHash('sha256').update(key).digest('hex').slice(0, 12)}`
}

/** Returns the issues with the settings of recorded prompts. */
export function findRecordKeyIssues(
  recordPrompts: unknown,
  recordKey: string | undefined,
): readonly string[] {
  if (!recordKey) {
    if (recordPrompts === undefined || recordPrompts === 'off') return []
    return [`ledger.record_prompts: ${recordPrompts} requires RECORD_KEY; ${HOW_TO_MAKE_ONE}`]
  }
  try {
    parseEncryptionKeys(recordKey)
    return []
  } catch (error) {
    return [`RECORD_KEY ${errorMessage(error)}`]
  }
}
