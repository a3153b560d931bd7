import { GatewayError, isJsonObject, type JsonObject, type Message } from '../../core/contract/index.ts'
import { parseResponseKey } from '../../core/dialects/responses/call.ts'
import { parseItems } from '../../core/dialects/responses/parse-items.ts'
import type { InputItem, ResponsesBody } from '../../core/dialects/responses/request-schema.ts'
import type { StoredResponse } from '../../core/events/domain-events.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'

/** Finds one of the caller's responses by its seed. */
export type FindResponse = (seed: string) => Promise<StoredResponse | undefined>

/**
 * Everything said in the turns up to a response, oldest first. Every turn is stored by itself, and expires by itself: 400 when
 * one of them is gone. Instructions are not inherited.
 */
export function loadConversation(
  { previous_response_id }: ResponsesBody,
  find: FindResponse,
): MaybePromise<readonly Message[]> {
  return typeof previous_response_id === 'string' ? loadTurns(previous_response_id, find) : []
}

async function loadTurns(previous_response_id: string, find: FindResponse): Promise<readonly Message[]> {
  const turns: (readonly Message[])[] = []
  for (let id: unknown = previous_response_id; typeof id === 'string'; ) {
    const stored = await find(parseResponseKey(id) ?? '')
    if (stored === undefined || !isFinishedResponse(stored)) throw notFound(id, previous_response_id)
    turns.push([...stored.input, ...parseItems(outputOf(stored), 'output')])
    id = stored.response.previous_response_id
  }
  return turns.reverse().flat()
}

/** The body with the stored items in place of the references to them. */
export function resolveReferences(body: ResponsesBody, find: FindResponse): MaybePromise<ResponsesBody> {
  const { input } = body
  if (typeof input === 'string' || !input.some(isReference)) return body
  const items = input.map((item) => (isReference(item) ? resolve(item, find) : item))
  return Promise.all(items).then((input) => ({ ...body, input }))
}

/** True when the model brought the response to an end, so that it can be replayed and continued. */
export function isFinishedResponse({ response }: StoredResponse): boolean {
  return response.status === 'completed' || response.status === 'incomplete'
}

function isReference(item: InputItem): boolean {
  return item.type === 'item_reference'
}

/** An item's id holds the seed of its response. What is not found stays a reference, which is refused when it is read. */
async function resolve(reference: InputItem, find: FindResponse): Promise<InputItem> {
  const seed = /^[a-z]+_([0-9A-Za-z]{24})\d+$/.exec(String(reference.id))?.[1]
  const stored = seed === undefined ? undefined : await find(seed)
  return (stored && outputOf(stored).find(({ id }) => id === reference.id)) ?? reference
}

function outputOf({ response }: StoredResponse): readonly (JsonObject & InputItem)[] {
  return Array.isArray(response.output) ? response.output.filter(isJsonObject) : []
}

function notFound(id: string, asked: string): GatewayError {
  const message =
    id === asked
      ? `There is no completed response ${id} of yours to continue.`
      : `The conversation of ${asked} cannot be continued: its earlier response ${id} is gone.`
  return new GatewayError('invalid_value', message, {
    param: 'previous_response_id',
    wireCode: 'previous_response_not_found',
  })
}
