import { invalidParameterError } from './parse-call.ts'

/**
 * Encodes where the next page of a list begins, such as `after` an id. Cursors are opaque to clients, so that
 * their content may change.
 */
export function encodeCursor(kind: string, value: number): string {
  return Buffer.from(`${kind}:${value}`).toString('base64url')
}

/** Throws 400 if the cursor is not one of this kind. */
export function decodeCursor(kind: string, cursor: string): number {
  const [, cursorKind, value] = /^(\w+):(\d{1,16})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  if (cursorKind === kind) return Number(value)
  throw invalidParameterError('cursor', 'cursor must be the next_cursor of an earlier response.')
}
