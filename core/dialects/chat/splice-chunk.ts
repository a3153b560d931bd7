import type { JsonObject } from '../../contract/index.ts'

const EMPTY_USAGE = ',"usage":null'

/**
 * A vendor's chunk under another id, made from its text: to write an object out anew is half the work of a stream. An empty usage goes
 * when the client did not ask for any. Undefined when the text is not of the usual shape, or the chunk needs more than that.
 */
export function spliceChunk(
  source: string,
  native: JsonObject,
  id: string,
  wantsUsage: boolean,
): string | undefined {
  const head = `{"id":"${native.id}",`
  if (!source.startsWith(head) || source.includes('\n')) return undefined
  if (native.usage !== undefined && native.usage !== null) return undefined
  if (native.usage === undefined || wantsUsage) return `{"id":"${id}",${source.slice(head.length)}`
  // A quotation mark within a string is escaped, so what is found is a field; the only one is the chunk's own.
  const at = source.indexOf(EMPTY_USAGE)
  if (at === -1 || at !== source.lastIndexOf(EMPTY_USAGE)) return undefined
  return `{"id":"${id}",${source.slice(head.length, at)}${source.slice(at + EMPTY_USAGE.length)}`
}
