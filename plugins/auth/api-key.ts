import { hash } from 'node:crypto'
import type { Admission } from '../../core/contract/index.ts'

/**
 * Returns the SHA-256 of a key in hex, the only form in which API keys are stored. API keys have 256 bits of
 * entropy, so an unsalted hash resists brute force.
 */
export function hashApiKey(key: string): string {
  return hash('sha256', key)
}

const lastOf = new WeakMap<object, { readonly key: string; readonly hash: string }>()

/** The same for a key that a connection sends with each of its requests: it is hashed once. */
export function hashKeyOf(connection: object, key: string): string {
  const last = lastOf.get(connection)
  if (last?.key === key) return last.hash
  const hash = hashApiKey(key)
  lastOf.set(connection, { key, hash })
  return hash
}

/** Returns the key of a request: the bearer token, or the header of Anthropic's or Azure's clients. */
export function apiKeyOf({ headers }: Pick<Admission, 'headers'>): string | undefined {
  const key = (headers['x-api-key'] ?? headers['api-key'])?.toString().trim()
  return bearerTokenOf(headers.authorization) ?? (key || undefined)
}

/** Returns the token of an `Authorization: Bearer` header, or undefined. */
function bearerTokenOf(header: string | undefined): string | undefined {
  return header?.match(/^Bearer +(\S+) *$/i)?.[1]
}
