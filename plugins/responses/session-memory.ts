import { LRUCache } from 'lru-cache'
import {
  type ClientSession,
  type EndedExchange,
  isJsonObject,
  type JsonObject,
  type Message,
} from '../../core/contract/index.ts'
import type { ResponsesCall } from '../../core/dialects/responses/call.ts'
import { parseItems } from '../../core/dialects/responses/parse-input-items.ts'
import { countChars } from '../../core/text/count-chars.ts'

/**
 * Remembers the last response of each WebSocket connection, for the next request on it. Responses with
 * `store: false` can be continued only so.
 */
export interface SessionMemory {
  remember(exchange: EndedExchange, call: ResponsesCall, response: JsonObject): void
  /** Returns the messages of all turns up to the response, if it is the last one of the connection. */
  recall(session: ClientSession | undefined, responseKey: string): readonly Message[] | undefined
}

/** Characters of all connections of a process together. Those that were used least recently are forgotten. */
const MAX_CHARS = 128 * 1024 * 1024

/** Characters of a conversation. A longer one is not remembered. */
const MAX_CONVERSATION_CHARS = 16 * 1024 * 1024

interface RememberedTurns {
  readonly responseKey: string
  readonly messages: readonly Message[]
}

export function createSessionMemory(
  maxChars = MAX_CHARS,
  maxConversationChars = MAX_CONVERSATION_CHARS,
): SessionMemory {
  const last = new LRUCache<ClientSession, RememberedTurns>({ maxSize: maxChars })
  const watched = new WeakSet<ClientSession>()

  function watch(session: ClientSession): void {
    if (watched.has(session)) return
    watched.add(session)
    session.onClose(() => last.delete(session))
  }

  return {
    remember({ client, request }, { responseKey, inputCount, earlierCount }, { status, output }) {
      const { session } = client
      if (session === undefined || session.isClosed) return
      last.delete(session)
      if (status !== 'completed' && status !== 'incomplete') return
      const items: readonly JsonObject[] = Array.isArray(output) ? output.filter(isJsonObject) : []
      const turns = request.messages.slice(request.messages.length - inputCount - earlierCount)
      const messages = [...turns, ...parseItems(items, 'output')]
      const size = countChars(messages, maxConversationChars)
      if (size > maxConversationChars) return
      watch(session)
      last.set(session, { responseKey, messages }, { size })
    },
    recall(session, responseKey) {
      const turns = session && last.get(session)
      return turns?.responseKey === responseKey ? turns.messages : undefined
    },
  }
}
