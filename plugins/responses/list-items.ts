import { GatewayError, type JsonObject } from '../../core/contract/index.ts'

/** The query of a list, as it came. */
type Query = Readonly<Record<string, unknown>>

/** A page of items as OpenAI lists them: `order` is `desc` unless it says `asc`, `limit` 1 to 100 and 20 by default, `after` an id. */
export function listItems(items: readonly JsonObject[], query: Query): JsonObject {
  const ordered = readOrder(query.order) === 'asc' ? items : items.toReversed()
  const from = query.after === undefined ? 0 : ordered.findIndex(({ id }) => id === query.after) + 1
  const limit = readLimit(query.limit)
  const data = ordered.slice(from, from + limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + limit < ordered.length,
  }
}

function readOrder(order: unknown = 'desc'): 'asc' | 'desc' {
  if (order === 'asc' || order === 'desc') return order
  throw new GatewayError('invalid_value', 'order must be asc or desc.', { param: 'order' })
}

function readLimit(limit: unknown = '20'): number {
  if (typeof limit === 'string' && /^\d{1,3}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= 100)
    return Number(limit)
  throw new GatewayError('invalid_value', 'limit must be an integer from 1 to 100.', { param: 'limit' })
}
