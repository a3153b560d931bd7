import {
  type GatewayContext,
  GatewayError,
  type GatewayRouter,
  type JsonObject,
} from '../../core/contract/index.ts'
import { isOpenAiClient, parseResponseKey } from '../../core/dialects/responses/call.ts'
import { toInputItems } from '../../core/dialects/responses/input-items.ts'
import { toResponseForm } from '../../core/dialects/responses/response.ts'
import { replaySseRecords } from '../../core/dialects/responses/sse-records.ts'
import type { StoredResponse } from '../../core/events/domain-events.ts'
import { sendEventStream } from '../../core/http/sse-body.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import { isFinishedResponse } from './conversation.ts'
import type { ActiveCalls } from './dialect.ts'
import type { ResponseStore } from './store.ts'

/** The body of `POST /v1/responses/{id}`, which may be left out. */
export const replaySchema: JsonObject = {
  type: 'object',
  properties: { stream: { type: ['boolean', 'null'] } },
}

const readReplay = createLazyParser<{ readonly stream?: boolean | null }>(replaySchema)

/** A response that was found, with its seed. */
interface Found extends StoredResponse {
  readonly seed: string
}

/** Replay, and what else is done with stored responses. Each takes the response's id, or the request id of its call. */
export function addResponseRoutes(router: GatewayRouter, store: ResponseStore, calls: ActiveCalls): void {
  async function find(ctx: GatewayContext & { params: Readonly<Record<string, string>> }): Promise<Found> {
    const id = ctx.params.id ?? ''
    const seed = parseResponseKey(id) ?? ''
    const stored = seed === '' ? undefined : await store.find(seed, ctx.account.userId)
    if (stored !== undefined) return { ...stored, seed }
    if (calls.isRunning(seed, ctx.account.userId)) throw conflict(`${id} is still being answered.`)
    throw new GatewayError('not_found', `There is no response ${id} of yours, or no longer.`)
  }

  router.post('/v1/responses/:id', async (ctx) => {
    const { stream } = readReplay(ctx.request.body ?? {})
    replay(ctx, await find(ctx), stream === true)
  })
  router.get('/v1/responses/:id', async (ctx) => {
    const found = await find(ctx)
    if (ctx.query.stream === 'true') replay(ctx, found, true)
    else ctx.body = toResponseForm(found.response, formFor(ctx, found))
  })
  router.delete('/v1/responses/:id', async (ctx) => {
    const { seed, response } = await find(ctx)
    await store.remove(seed)
    ctx.body = { id: response.id, object: 'response', deleted: true }
  })
  router.get('/v1/responses/:id/input_items', async (ctx) => {
    const { seed, input } = await find(ctx)
    ctx.body = listItems(toInputItems(input, seed), ctx.query)
  })
}

/** The answer of the call once more, under the id of this request. */
function replay(ctx: GatewayContext, found: Found, stream: boolean): void {
  if (!isFinishedResponse(found))
    throw conflict(`${found.response.id} was not completed: there is nothing to replay.`)
  const response = { ...found.response, x_request_id: ctx.requestId }
  if (stream) sendEventStream(ctx, replaySseRecords(found.seed, response, found.pace))
  else ctx.body = toResponseForm(response, formFor(ctx, found))
}

function formFor({ headers }: GatewayContext, { form }: Found) {
  return isOpenAiClient(headers) ? 'openai' : form
}

/** Trying again does not help. */
function conflict(message: string): GatewayError {
  return new GatewayError('conflict', message, { headers: { 'x-should-retry': 'false' } })
}

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
