import { createHash } from 'node:crypto'

/** Gives the id that a tool call has with Mistral; the same one each time it is asked. */
export type ToolCallIds = (id: string) => string

/**
 * Mistral takes ids of exactly 9 letters and digits (its error 3280). Others are hashed, so that a conversation keeps
 * its ids from turn to turn; two ids of one request never become the same. One of these per request.
 */
export function createToolCallIds(hash: (id: string) => string = shorten): ToolCallIds {
  const given = new Map<string, string>()
  const taken = new Set<string>()

  function choose(id: string): string {
    if (SHORT.test(id) && !taken.has(id)) return id
    let short = hash(id)
    for (let salt = 1; taken.has(short); salt++) short = hash(`${id}#${salt}`)
    return short
  }

  return (id) => {
    const short = given.get(id) ?? choose(id)
    given.set(id, short)
    taken.add(short)
    return short
  }
}

const LENGTH = 9
const SHORT = /^[A-Za-z0-9]{9}$/
const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

function shorten(id: string): string {
  const bytes = createHash('sha256').update(id).digest().subarray(0, LENGTH)
  return Array.from(bytes, (byte) => BASE62.charAt(byte % BASE62.length)).join('')
}
