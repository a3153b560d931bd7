import {
  type ClientSession,
  type EndedExchange,
  isJsonObject,
  type JsonObject,
  type Message,
} from '../../core/contract/index.ts'
import { countChars } from '../../core/util/json.ts'
import { parseItems } from '../../providers/shared/responses-format/input-items.ts'
import type { ResponsesCall } from './call.ts'

/**
 * Remembers the last response of each WebSocket connection, for the next request on it. Responses with
 * `store: false` can be continued only so.
 */
export interface SessionMemory {
  remember(exchange: EndedExchange, call: ResponsesCall, response: JsonObject): void
  /**
   * Returns the messages of all turns up to the response, if it is the last one of the connection, and
   * forgets them: a request that fails to continue the response evicts it, as at OpenAI.
   */
  recall(session: ClientSession | undefined, responseKey: string): readonly Message[] | undefined
}

export interface SessionMemoryLimits {
  /** Characters of all connections of a process. */
  readonly total: number
  /** Characters of the connections of one user. */
  readonly perUser: number
  /** Characters of a conversation. A longer one is not remembered. */
  readonly perConversation: number
}

const LIMITS: SessionMemoryLimits = {
  total: 128 * 1024 * 1024,
  perUser: 64 * 1024 * 1024,
  perConversation: 16 * 1024 * 1024,
}

interface RememberedTurns {
  readonly responseKey: string
  readonly messages: readonly Message[]
  readonly size: number
}

/** The connections of a user, those that were used least recently first. */
interface UserMemory {
  readonly turns: Map<ClientSession, RememberedTurns>
  size: number
}

/** When it is full, the user who takes most of it loses what was used least recently. */
export function createSessionMemory(limits: SessionMemoryLimits = LIMITS): SessionMemory {
  const users = new Map<number | undefined, UserMemory>()
  const watched = new WeakSet<ClientSession>()
  let totalSize = 0

  function forget(session: ClientSession): RememberedTurns | undefined {
    const user = users.get(session.owner)
    const turns = user?.turns.get(session)
    if (user === undefined || turns === undefined) return undefined
    user.turns.delete(session)
    user.size -= turns.size
    totalSize -= turns.size
    if (user.turns.size === 0) users.delete(session.owner)
    return turns
  }

  function add(session: ClientSession, turns: RememberedTurns): void {
    const user = users.get(session.owner) ?? { turns: new Map(), size: 0 }
    users.set(session.owner, user)
    user.turns.set(session, turns)
    user.size += turns.size
    totalSize += turns.size
    while (user.size > limits.perUser) forgetOldest(user)
    while (totalSize > limits.total) forgetOldest(findLargest(users.values()))
  }

  function forgetOldest(user: UserMemory | undefined): void {
    for (const session of user?.turns.keys() ?? []) return void forget(session)
  }

  function watch(session: ClientSession): void {
    if (watched.has(session)) return
    watched.add(session)
    session.onClose(() => forget(session))
  }

  return {
    remember({ client, request }, { responseKey, inputCount, earlierCount }, { status, output }) {
      const { session } = client
      if (session === undefined || session.isClosed) return
      forget(session)
      if (status !== 'completed' && status !== 'incomplete') return
      const items: readonly JsonObject[] = Array.isArray(output) ? output.filter(isJsonObject) : []
      const turns = request.messages.slice(request.messages.length - inputCount - earlierCount)
      const messages = [...turns, ...parseItems(items, 'output')]
      const size = countChars(messages, limits.perConversation)
      if (size > limits.perConversation) return
      watch(session)
      add(session, { responseKey, messages, size })
    },
    recall(session, responseKey) {
      const turns = session && users.get(session.owner)?.turns.get(session)
      if (session === undefined || turns?.responseKey !== responseKey) return undefined
      return forget(session)?.messages
    },
  }
}

function findLargest(users: Iterable<UserMemory>): UserMemory | undefined {
  let largest: UserMemory | undefined
  for (const user of users) if (largest === undefined || user.size > largest.size) largest = user
  return largest
}
