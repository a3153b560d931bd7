import {
  type Account,
  type Endpoint,
  type EndpointCall,
  type EndpointResponse,
  endpoint,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Static,
  type TObject,
  user,
} from '../../core/contract/index.ts'
import type { ChooseForm } from '../../core/dialects/response-form.ts'
import { findClientTools, findLoadedTools } from '../../providers/shared/responses-format/client-tools.ts'
import { parseResponseKey } from './call.ts'
import { isFinishedResponse } from './conversation.ts'
import type { ActiveCalls } from './dialect.ts'
import { toResponseForm } from './response.ts'
import {
  DeletedResponse,
  InputItemList,
  inputItemsQuery,
  Replay,
  readQuery,
  responseId,
  storedResponse,
} from './schemas.ts'
import { replaySseRecords } from './sse-records.ts'
import type { ResponseStore, StoredResponse } from './store.ts'
import { toInputItems } from './to-input-items.ts'

interface FoundResponse extends StoredResponse {
  readonly responseKey: string
}

/** The parts of a call that decide how a stored response is shown. */
type ReplayCall = Pick<EndpointCall, 'headers' | 'requestId'>

/** Creates the endpoints for stored responses. Each accepts the response id or the request id of its call. */
export function createResponseEndpoints(
  store: ResponseStore,
  activeCalls: ActiveCalls,
  chooseForm: ChooseForm,
): readonly Endpoint[] {
  async function findResponse(
    { userId }: Account,
    id: string,
    toRunningError = stillRunningError,
  ): Promise<FoundResponse> {
    const responseKey = parseResponseKey(id)
    if (responseKey === undefined)
      throw new GatewayError(
        'not_found',
        `"${id}" is not the id of a response. Ids begin with resp_ or req_.`,
      )
    const stored = await store.find(responseKey, userId)
    if (stored !== undefined) return { ...stored, responseKey }
    if (activeCalls.isRunning(responseKey, userId)) throw toRunningError(id)
    throw new GatewayError('not_found', `Response ${id} was not found or has expired.`)
  }

  /** Returns a stored response with the id of the current request. Throws 409 if it has not completed. */
  function replayResponse(
    call: ReplayCall,
    found: FoundResponse,
    stream: boolean,
    startingAfter?: number,
  ): EndpointResponse {
    if (!isFinishedResponse(found))
      throw new GatewayError(
        'conflict',
        `Response ${found.response.id} was not completed and cannot be replayed.`,
      )
    const response = { ...found.response, x_request_id: call.requestId }
    const headers = toReplyHeaders(response)
    if (!stream) {
      const body = toResponseForm(response, chooseForm(call.headers, found.form))
      return { status: 200, headers, body }
    }
    const records = replaySseRecords(found.responseKey, response, found.pace, startingAfter)
    return { status: 200, headers, stream: records }
  }

  const common = {
    access: user(),
    tags: ['responses'],
    errorStyle: 'openai',
    tellsOwnTime: true,
    params: { id: responseId },
    errors: ['conflict', 'responses_unavailable'],
  } as const

  return [
    endpoint({
      ...common,
      method: 'POST',
      path: '/v1/responses/{id}',
      operationId: 'replayResponse',
      summary: 'Replays a stored response without calling a model.',
      body: Replay,
      examples: { whole: {}, streamed: { stream: true } },
      responses: { 200: storedResponse },
      async handle(call) {
        const found = await findResponse(call.account, call.params.id)
        return replayResponse(call, found, call.body?.stream === true)
      },
    }),
    endpoint({
      ...common,
      method: 'GET',
      path: '/v1/responses/{id}',
      operationId: 'readResponse',
      summary: 'Returns a stored response.',
      query: readQuery,
      responses: { 200: storedResponse },
      async handle(call) {
        const found = await findResponse(call.account, call.params.id)
        const { stream, starting_after } = call.query
        if (stream === true) return replayResponse(call, found, true, starting_after)
        return { status: 200, body: toResponseForm(found.response, chooseForm(call.headers, found.form)) }
      },
    }),
    endpoint({
      ...common,
      method: 'POST',
      path: '/v1/responses/{id}/cancel',
      operationId: 'cancelResponse',
      summary: 'Returns a cancelled response; 400 for others, since none is created in the background.',
      responses: { 200: storedResponse },
      errors: ['invalid_value', 'responses_unavailable'],
      async handle({ account, params, headers }) {
        const { response, form } = await findResponse(account, params.id, notInBackgroundError)
        if (response.status !== 'cancelled') throw notInBackgroundError(params.id)
        return { status: 200, body: toResponseForm(response, chooseForm(headers, form)) }
      },
    }),
    endpoint({
      ...common,
      method: 'DELETE',
      path: '/v1/responses/{id}',
      operationId: 'deleteResponse',
      summary: 'Deletes a stored response.',
      responses: { 200: { description: 'The response is deleted.', body: DeletedResponse } },
      errors: ['conflict', 'responses_unavailable'],
      async handle({ account, params }) {
        const { responseKey, response } = await findResponse(account, params.id)
        await store.remove(responseKey)
        return { status: 200, body: { id: response.id, object: 'response', deleted: true } }
      },
    }),
    endpoint({
      ...common,
      method: 'GET',
      path: '/v1/responses/{id}/input_items',
      operationId: 'listInputItems',
      summary: 'Lists the input items of a stored response.',
      query: inputItemsQuery,
      responses: { 200: { description: 'A page of input items.', body: InputItemList } },
      async handle({ account, params, query }) {
        const { responseKey, input, response } = await findResponse(account, params.id)
        const declared = Array.isArray(response.tools) ? response.tools : []
        const tools = findClientTools([...declared, ...findLoadedTools(input, declared)])
        const items = toInputItems(input, responseKey, tools)
        return { status: 200, body: listItems(items, query) }
      },
    }),
  ]
}

/** The headers that say who answered, as the first answer had them. */
function toReplyHeaders({ model, signalbox }: JsonObject): Record<string, string> {
  const { provider, routing_mode, deployment } = isJsonObject(signalbox) ? signalbox : {}
  const fields = {
    ...{ 'x-provider': provider, 'x-model': model, 'x-routing-mode': routing_mode },
    ...(deployment !== undefined && { 'x-deployment': deployment }),
  }
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value ?? '')]))
}

function stillRunningError(id: string): GatewayError {
  return new GatewayError('conflict', `Response ${id} is still in progress. Wait until it has completed.`)
}

/** 400 as at OpenAI: SDKs retry 409. */
function notInBackgroundError(id: string): GatewayError {
  const message =
    `Response ${id} cannot be cancelled, because it was not created in the background. To stop a response ` +
    'that is being created, close its connection.'
  return new GatewayError('invalid_value', message)
}

type ItemsQuery = Static<TObject<typeof inputItemsQuery>>

/** Returns a page of items in OpenAI's list format. */
export function listItems(
  items: readonly JsonObject[],
  { order = 'desc', limit = 20, after }: ItemsQuery,
): JsonObject {
  const ordered = order === 'asc' ? items : items.toReversed()
  const start = after === undefined ? 0 : findItem(ordered, after) + 1
  const data = ordered.slice(start, start + limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? '',
    last_id: data.at(-1)?.id ?? '',
    has_more: start + limit < ordered.length,
  }
}

function findItem(items: readonly JsonObject[], id: string): number {
  const index = items.findIndex((item) => item.id === id)
  if (index !== -1) return index
  const message = `after: the response has no input item ${id}. Use the last_id of the previous page.`
  throw new GatewayError('invalid_value', message, { param: 'after' })
}
