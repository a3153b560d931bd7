import { type EndedExchange, isJsonObject, type JsonObject, type Message } from '../../core/contract/index.ts'
import type { ResponsesCall } from '../../core/dialects/responses/call.ts'
import { parseItems } from '../../core/dialects/responses/parse-input-items.ts'

/**
 * Remembers the last response of each WebSocket connection, for the next request on it. Responses with
 * `store: false` can be continued only so.
 */
export interface SessionMemory {
  remember(exchange: EndedExchange, call: ResponsesCall, response: JsonObject): void
  /** Returns the messages of all turns up to the response, if it is the last one of the connection. */
  recall(session: object | undefined, responseKey: string): readonly Message[] | undefined
}

interface RememberedTurns {
  readonly responseKey: string
  readonly messages: readonly Message[]
}

export function createSessionMemory(): SessionMemory {
  const last = new WeakMap<object, RememberedTurns>()
  return {
    remember({ client, request }, { responseKey, inputCount, earlierCount }, { status, output }) {
      if (client.session === undefined) return
      last.delete(client.session)
      if (status !== 'completed' && status !== 'incomplete') return
      const items: readonly JsonObject[] = Array.isArray(output) ? output.filter(isJsonObject) : []
      const turns = request.messages.slice(request.messages.length - inputCount - earlierCount)
      last.set(client.session, { responseKey, messages: [...turns, ...parseItems(items, 'output')] })
    },
    recall(session, responseKey) {
      const turns = session && last.get(session)
      return turns?.responseKey === responseKey ? turns.messages : undefined
    },
  }
}
