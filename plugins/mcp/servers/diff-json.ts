import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'

/** Where two JSON values differ. `before` or `after` is missing where there was or is nothing. */
interface JsonDifference extends JsonObject {
  /** JSON pointer. */
  readonly path: string
  readonly before?: unknown
  readonly after?: unknown
}

/** Compares objects field by field, and everything else as a whole. */
export function diffJson(before: unknown, after: unknown, path = ''): readonly JsonDifference[] {
  if (isDeepStrictEqual(before, after)) return []
  if (!isJsonObject(before) || !isJsonObject(after))
    return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names.flatMap((name) =>
    diffJson(
      Object.hasOwn(before, name) ? before[name] : undefined,
      Object.hasOwn(after, name) ? after[name] : undefined,
      `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    ),
  )
}
