import type { EndpointResponse, JsonObject } from '../contract/index.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'

/** Entries of a page of things that operators manage. */
export const PAGE = { default: 100, max: 1000 }

export interface PageQuery {
  readonly limit?: number
  readonly cursor?: string
}

/**
 * Returns the page of a list that is sorted by `rank`: a whole number of at most 16 digits, unique in the
 * list, such as an id.
 */
export function toPage<Item>(
  items: readonly Item[],
  { limit = PAGE.default, cursor }: PageQuery,
  rank: (item: Item) => number,
  show: (item: Item) => JsonObject,
): EndpointResponse {
  const after = cursor === undefined ? -1 : decodeCursor('after', cursor)
  const rest = cursor === undefined ? items : items.filter((item) => rank(item) > after)
  const page = rest.slice(0, limit)
  const last = rest.length > limit ? page.at(-1) : undefined
  const next_cursor = last === undefined ? null : encodeCursor('after', rank(last))
  return { status: 200, body: { data: page.map(show), next_cursor } }
}
