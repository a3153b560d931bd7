import { GatewayError, isJsonObject, type JsonObject, type Message } from '../../core/contract/index.ts'
import { parseResponseKey } from '../../core/dialects/responses/call.ts'
import { parseItems } from '../../core/dialects/responses/parse-input-items.ts'
import type { InputItem, ResponsesBody } from '../../core/dialects/responses/request-schema.ts'
import type { StoredResponse } from '../../core/events/domain-events.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'

/** Finds a stored response of the caller by its response key. */
export type FindResponse = (responseKey: string) => Promise<StoredResponse | undefined>

/** Returns the messages of all turns up to a response that the caller's connection remembers. */
export type RecallTurns = (responseKey: string) => readonly Message[] | undefined

/**
 * Loads the messages of all turns up to the previous response, oldest first; empty if there is none. Every
 * turn is stored and expires separately: throws 400 if one is missing. Instructions are not inherited. See
 * docs/decisions/responses.md, "Turns are stored individually".
 */
export function loadConversation(
  { previous_response_id }: ResponsesBody,
  find: FindResponse,
  recall?: RecallTurns,
): MaybePromise<readonly Message[]> {
  if (typeof previous_response_id !== 'string') return []
  return recall?.(parseResponseKey(previous_response_id) ?? '') ?? loadTurns(previous_response_id, find)
}

async function loadTurns(previousId: string, find: FindResponse): Promise<readonly Message[]> {
  const turns: (readonly Message[])[] = []
  for (let id: unknown = previousId; typeof id === 'string'; ) {
    const stored = await find(parseResponseKey(id) ?? '')
    if (stored === undefined || !isFinishedResponse(stored)) throw previousResponseError(id, previousId)
    turns.push([...stored.input, ...parseItems(outputItems(stored), 'output')])
    id = stored.response.previous_response_id
  }
  return turns.reverse().flat()
}

/** Replaces item references in the input by the stored items. */
export function resolveReferences(body: ResponsesBody, find: FindResponse): MaybePromise<ResponsesBody> {
  const { input } = body
  if (typeof input === 'string' || !input.some(isReference)) return body
  const items = input.map((item) => (isReference(item) ? resolveReference(item, find) : item))
  return Promise.all(items).then((input) => ({ ...body, input }))
}

/** True if the model finished the response, even if cut off, so that it can be replayed and continued. */
export function isFinishedResponse({ response }: StoredResponse): boolean {
  return response.status === 'completed' || response.status === 'incomplete'
}

function isReference(item: InputItem): boolean {
  return item.type === 'item_reference'
}

/**
 * Finds the stored item, whose id contains its response key. If there is none, returns the reference, which
 * `parseItems` then rejects.
 */
async function resolveReference(reference: InputItem, find: FindResponse): Promise<InputItem> {
  const responseKey = /^[a-z]+_([0-9A-Za-z]{24})\d+$/.exec(String(reference.id))?.[1]
  const stored = responseKey === undefined ? undefined : await find(responseKey)
  return (stored && outputItems(stored).find(({ id }) => id === reference.id)) ?? reference
}

function outputItems({ response }: StoredResponse): readonly (JsonObject & InputItem)[] {
  return Array.isArray(response.output) ? response.output.filter(isJsonObject) : []
}

/** `id` is the response that cannot be used, `previousId` the one that the caller named. */
function previousResponseError(id: string, previousId: string): GatewayError {
  const subject = id === previousId ? 'it' : `the earlier response ${id}`
  const reason = `${subject} was not found, has expired or was not completed`
  const message = `Response ${previousId} cannot be continued: ${reason}.`
  return new GatewayError('invalid_value', message, {
    param: 'previous_response_id',
    wireCode: 'previous_response_not_found',
  })
}
