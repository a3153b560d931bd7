import type { IncomingHttpHeaders } from 'node:http'

/** The longest id of a session. */
const MAX_SESSION_CHARS = 200

const VISIBLE_ASCII = /^[\x21-\x7e]+$/

/** An id of a session as a pattern of JSON Schema. */
export const SESSION_ID_PATTERN = `^[\\x21-\\x7e]{1,${MAX_SESSION_CHARS}}$`

/**
 * Returns the session that a client names: in the general header, or in those of Claude Code and Codex.
 * Undefined if it names none, or something that is no id. A session is its user's: see
 * docs/decisions/ledger.md, "A session is what its user calls one".
 */
export function sessionOf(headers: IncomingHttpHeaders): string | undefined {
  return parseSessionId(
    headers['x-session-id'] ||
      headers['x-claude-code-session-id'] ||
      headers.session_id ||
      headers['session-id'],
  )
}

/** Returns the value if it is an id of a session. */
export function parseSessionId(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_SESSION_CHARS) return undefined
  return VISIBLE_ASCII.test(value) ? value : undefined
}
