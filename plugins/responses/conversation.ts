import {
  errorsOf,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Message,
} from '../../core/contract/index.ts'
import { countChars } from '../../core/util/json.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'
import { parseItems } from '../../providers/shared/responses-format/input-items.ts'
import type { InputItem, ResponsesBody } from '../../providers/shared/responses-format/request-schema.ts'
import { parseResponseKey } from './call.ts'
import type { StoredResponse } from './store.ts'

/** Finds a stored response of the caller by its response key. */
export type FindResponse = (responseKey: string) => Promise<StoredResponse | undefined>

/**
 * Characters of what one request loads. A turn can be as long as a body, a conversation can have any number
 * of them, and an item can be referenced any number of times.
 */
const MAX_LOADED_CHARS = 64 * 1024 * 1024

/** Returns the messages of all turns up to a response that the caller's connection remembers. */
export type RecallTurns = (responseKey: string) => readonly Message[] | undefined

/**
 * Loads the messages of all turns up to the previous response, oldest first; empty if there is none. Every
 * turn is stored and expires separately: throws 400 if one is missing, and 413 if they are too long together.
 * Instructions are not inherited. See docs/decisions/responses.md, "Turns are stored individually".
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
  const addLoaded = createLoadLimit('previous_response_id')
  for (let id: unknown = previousId; typeof id === 'string'; ) {
    const stored = await find(parseResponseKey(id) ?? '')
    if (stored === undefined || !isFinishedResponse(stored)) throw previousResponseError(id, previousId)
    addLoaded(stored)
    turns.push([...stored.input, ...parseItems(outputItems(stored), 'output')])
    id = stored.response.previous_response_id
  }
  return turns.reverse().flat()
}

/** Replaces item references in the input by the stored items. Throws 413 if these are too long together. */
export function resolveReferences(body: ResponsesBody, find: FindResponse): MaybePromise<ResponsesBody> {
  const { input } = body
  if (typeof input === 'string' || !input.some(isReference)) return body
  return resolveItems(input, find).then((items) => ({ ...body, input: items }))
}

/** Loads each response once, and one after the other: together they could fill the memory. */
async function resolveItems(input: readonly InputItem[], find: FindResponse): Promise<InputItem[]> {
  const addLoaded = createLoadLimit('input')
  const outputs = new Map<string, readonly InputItem[]>()
  const items: InputItem[] = []
  for (const item of input) {
    const responseKey = isReference(item) ? findResponseKey(item) : undefined
    if (responseKey === undefined) {
      items.push(item)
      continue
    }
    let output = outputs.get(responseKey)
    if (output === undefined) {
      const stored = await find(responseKey)
      addLoaded(stored)
      output = stored === undefined ? [] : outputItems(stored)
      outputs.set(responseKey, output)
    }
    const referenced = output.find(({ id }) => id === item.id)
    addLoaded(referenced)
    // If there is none, `parseItems` rejects the reference.
    items.push(referenced ?? item)
  }
  return items
}

/** Returns a function to call with what was loaded. It throws 413 if that is too long together. */
function createLoadLimit(param: string): (loaded: unknown) => void {
  let left = MAX_LOADED_CHARS
  return (loaded) => {
    left -= countChars(loaded, left)
    if (left >= 0) return
    const message =
      `${param} refers to more than ${MAX_LOADED_CHARS} characters of stored responses. ` +
      'Begin a new conversation.'
    throw new GatewayError('body_too_large', message, { param })
  }
}

/** True if the model finished the response, even if cut off, so that it can be replayed and continued. */
export function isFinishedResponse({ response }: StoredResponse): boolean {
  return response.status === 'completed' || response.status === 'incomplete'
}

function isReference(item: InputItem): boolean {
  return item.type === 'item_reference'
}

/** The id of an item contains the key of its response. */
function findResponseKey({ id }: InputItem): string | undefined {
  return /^[a-z]+_([0-9A-Za-z]{24})\d+$/.exec(String(id))?.[1]
}

function outputItems({ response }: StoredResponse): readonly (JsonObject & InputItem)[] {
  return Array.isArray(response.output) ? response.output.filter(isJsonObject) : []
}

export const CONVERSATION_ERROR_CODES = {
  previous_response_not_found: {
    ...{ status: 400, type: 'invalid_request_error' },
    description: 'The response to continue was not found, has expired or was not completed.',
  },
} as const

const conversationError = errorsOf(CONVERSATION_ERROR_CODES)

/** `id` is the response that cannot be used, `previousId` the one that the caller named. */
function previousResponseError(id: string, previousId: string): GatewayError {
  const subject = id === previousId ? 'it' : `the earlier response ${id}`
  const reason = `${subject} was not found, has expired or was not completed`
  const message = `Response ${previousId} cannot be continued: ${reason}.`
  return conversationError('previous_response_not_found', message, {
    param: 'previous_response_id',
    quoted: previousId,
  })
}

const MAX_SHOWN_CHARS = 64

/**
 * Throws 400, as OpenAI does, for the output of a call that neither the input nor an earlier turn has.
 * `input` has the messages of the body's items.
 */
export function checkCallOutputs(
  { input: items }: Pick<ResponsesBody, 'input'>,
  earlier: readonly Message[],
  input: readonly Message[],
): void {
  if (!input.some(({ role }) => role === 'tool')) return
  const calls = [...earlier, ...input].flatMap(({ tool_calls }) => tool_calls ?? [])
  const known = new Set(calls.map(({ id }) => id))
  const missing = input.find(({ role, tool_call_id }) => role === 'tool' && !known.has(tool_call_id ?? ''))
  if (missing === undefined) return
  const id = missing.tool_call_id ?? ''
  const index = typeof items === 'string' ? 0 : items.findIndex(({ call_id }) => String(call_id) === id)
  const shown = id.slice(0, MAX_SHOWN_CHARS)
  const param = `input[${index}].call_id`
  const message = `${param} names no tool call of this conversation: ${shown}. Send the call, too.`
  throw new GatewayError('invalid_value', message, { param, quoted: shown })
}
