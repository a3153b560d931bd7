import {
  type GatewayContext,
  GatewayError,
  type GatewayRouter,
  type JsonObject,
  Nullable,
  Type,
} from '../../core/contract/index.ts'
import { toInputItems } from '../../core/dialects/responses/build-input-items.ts'
import { isOpenAiClient, parseResponseKey } from '../../core/dialects/responses/call.ts'
import { toResponseForm } from '../../core/dialects/responses/response.ts'
import { replaySseRecords } from '../../core/dialects/responses/sse-records.ts'
import type { ResponseForm, StoredResponse } from '../../core/events/domain-events.ts'
import { sendEventStream } from '../../core/http/sse-body.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import { isFinishedResponse } from './conversation.ts'
import type { ActiveCalls } from './dialect.ts'
import type { ResponseStore } from './store.ts'

/** The body of `POST /v1/responses/{id}`, which is optional. */
export const replaySchema = Type.Object({ stream: Type.Optional(Nullable(Type.Boolean())) })

const parseReplay = createLazyParser(replaySchema)

interface FoundResponse extends StoredResponse {
  readonly responseKey: string
}

/** Adds the endpoints for stored responses. Each accepts the response id or the request id of its call. */
export function addResponseRoutes(
  router: GatewayRouter,
  store: ResponseStore,
  activeCalls: ActiveCalls,
): void {
  async function findResponse(
    ctx: GatewayContext & { params: Readonly<Record<string, string>> },
  ): Promise<FoundResponse> {
    const id = ctx.params.id ?? ''
    const responseKey = parseResponseKey(id) ?? ''
    const stored = responseKey === '' ? undefined : await store.find(responseKey, ctx.account.userId)
    if (stored !== undefined) return { ...stored, responseKey }
    if (activeCalls.isRunning(responseKey, ctx.account.userId))
      throw conflictError(`Response ${id} is still in progress. Wait until it has completed.`)
    throw new GatewayError('not_found', `Response ${id} was not found or has expired.`)
  }

  router.post('/v1/responses/:id', async (ctx) => {
    const { stream } = parseReplay(ctx.request.body ?? {})
    replayResponse(ctx, await findResponse(ctx), stream === true)
  })
  router.get('/v1/responses/:id', async (ctx) => {
    const found = await findResponse(ctx)
    if (ctx.query.stream === 'true') replayResponse(ctx, found, true)
    else ctx.body = toResponseForm(found.response, formFor(ctx, found))
  })
  router.delete('/v1/responses/:id', async (ctx) => {
    const { responseKey, response } = await findResponse(ctx)
    await store.remove(responseKey)
    ctx.body = { id: response.id, object: 'response', deleted: true }
  })
  router.get('/v1/responses/:id/input_items', async (ctx) => {
    const { responseKey, input } = await findResponse(ctx)
    ctx.body = listItems(toInputItems(input, responseKey), ctx.query)
  })
}

/** Sends a stored response again, with the id of the current request. Throws 409 if it has not completed. */
function replayResponse(ctx: GatewayContext, found: FoundResponse, stream: boolean): void {
  if (!isFinishedResponse(found))
    throw conflictError(`Response ${found.response.id} was not completed and cannot be replayed.`)
  const response = { ...found.response, x_request_id: ctx.requestId }
  if (stream) sendEventStream(ctx, replaySseRecords(found.responseKey, response, found.pace))
  else ctx.body = toResponseForm(response, formFor(ctx, found))
}

function formFor({ headers }: GatewayContext, { form }: FoundResponse): ResponseForm {
  return isOpenAiClient(headers) ? 'openai' : form
}

/** Creates a 409 that tells SDKs not to retry automatically. */
function conflictError(message: string): GatewayError {
  return new GatewayError('conflict', message, { headers: { 'x-should-retry': 'false' } })
}

type RawQuery = Readonly<Record<string, unknown>>

/**
 * Returns a page of items in OpenAI's list format. Query: `order` is `asc` or `desc` (default), `limit` 1 to
 * 100 (default 20), `after` the id of the last item of the previous page. Throws 400 for other values.
 */
export function listItems(items: readonly JsonObject[], query: RawQuery): JsonObject {
  const ordered = parseOrder(query.order) === 'asc' ? items : items.toReversed()
  const start = query.after === undefined ? 0 : ordered.findIndex(({ id }) => id === query.after) + 1
  const limit = parseLimit(query.limit)
  const data = ordered.slice(start, start + limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + limit < ordered.length,
  }
}

function parseOrder(order: unknown = 'desc'): 'asc' | 'desc' {
  if (order === 'asc' || order === 'desc') return order
  throw new GatewayError('invalid_value', 'order must be asc or desc.', { param: 'order' })
}

function parseLimit(limit: unknown = '20'): number {
  if (typeof limit === 'string' && /^\d{1,3}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= 100)
    return Number(limit)
  throw new GatewayError('invalid_value', 'limit must be an integer from 1 to 100.', { param: 'limit' })
}
