import type { JsonObject } from '../../contract/index.ts'

/** The beginning of an object up to its `id`, if that comes first. */
const HEAD = /^\s*\{\s*"id"\s*:\s*"([^"\\]*)"\s*,/

/**
 * A vendor's completion under another id and with more fields, made from its text: to write an object out anew is dearer than to read it.
 * Undefined when the text does not begin with the id, or the completion has one of the fields already.
 */
export function spliceCompletion(
  source: string,
  native: JsonObject,
  id: string,
  extension: JsonObject,
): string | undefined {
  const head = HEAD.exec(source)
  if (head === null || head[1] !== native.id) return undefined
  for (const name in extension) if (name in native) return undefined
  const more = JSON.stringify(extension)
  if (more === '{}') return undefined
  return `{"id":"${id}",${source.slice(head[0].length, source.lastIndexOf('}'))},${more.slice(1)}`
}
