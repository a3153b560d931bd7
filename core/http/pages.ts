import { Type } from '../contract/index.ts'
import { invalidParameterError } from './parse-call.ts'

/**
 * Encodes where the next page of a list begins, such as `after` an id. Cursors are opaque to clients, so that
 * their content may change.
 */
export function encodeCursor(kind: string, value: number | string): string {
  return Buffer.from(`${kind}:${value}`).toString('base64url')
}

/** Throws 400 if the cursor is not one of this kind. */
export function decodeCursor(kind: string, cursor: string): number {
  return Number(decodeTextCursor(kind, cursor, /^\d{1,16}$/)[0])
}

/** The same for a cursor whose value is a text in a form. Returns what the form finds. */
export function decodeTextCursor(kind: string, cursor: string, form: RegExp): readonly string[] {
  const [, cursorKind, value = ''] = /^(\w+):(.*)$/s.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  const found = cursorKind === kind ? form.exec(value) : null
  if (found !== null) return found
  throw invalidParameterError('cursor', 'cursor must be the next_cursor of an earlier response.')
}

/** Entries of a page of things that operators manage. */
export const PAGE = { default: 100, max: 1000 }

export interface PageQuery {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/**
 * Returns the page of a list that is sorted by `rank`: a whole number of at most 16 digits, unique in the
 * list, such as an id. Without a limit, it is all that is left.
 */
export function cutPage<Item>(
  items: readonly Item[],
  { limit = items.length, cursor }: PageQuery,
  rank: (item: Item) => number,
) {
  const after = cursor === undefined ? -1 : decodeCursor('after', cursor)
  const rest = cursor === undefined ? items : items.filter((item) => rank(item) > after)
  const page = rest.slice(0, limit)
  const last = rest.length > limit ? page.at(-1) : undefined
  return { page, next_cursor: last === undefined ? null : encodeCursor('after', rank(last)) }
}

/** The parameter `q` of lists of named things. */
export const nameFilter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'A part of the name, whose case is ignored, or the id.',
    examples: ['ada'],
  }),
)

/** The parameter `id` of the same lists: such as to read the names of what another list refers to. */
export const idFilter = Type.Optional(
  Type.Array(Type.Integer({ minimum: 1, format: 'int64' }), {
    maxItems: 100,
    uniqueItems: true,
    description: 'Only those with one of these ids; repeat the parameter for several.',
    examples: [[7]],
  }),
)

/** What lists can be searched for. */
export interface Named {
  readonly id: number
  readonly name: string
}

/** Those that have the text in their name or as their id, and one of the ids. */
export function findNamed<Item extends Named>(
  items: readonly Item[],
  { q = '', id: ids }: { readonly q?: string; readonly id?: readonly number[] },
): readonly Item[] {
  if (q === '' && ids === undefined) return items
  const text = q.toLowerCase()
  const wanted = ids && new Set(ids)
  const hasText = ({ id, name }: Named) =>
    text === '' || name.toLowerCase().includes(text) || String(id) === text
  return items.filter((item) => hasText(item) && wanted?.has(item.id) !== false)
}
