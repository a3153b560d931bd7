import type { Logger } from 'pino'
import {
  type Account,
  type EndedExchange,
  type EventLog,
  EventLogUnavailableError,
  isJsonObject,
  type JsonObject,
  keyActor,
} from '../../core/contract/index.ts'
import type { ResponsesCall } from '../../core/dialects/responses/call.ts'
import { toFailedResponse } from '../../core/dialects/responses/failed-response.ts'
import { buildRefusedResponse, toCancelledResponse } from '../../core/dialects/responses/response.ts'
import type { PersistResponse } from '../../core/dialects/responses/write-response.ts'
import { toStreamError } from '../../core/dialects/stream-error.ts'
import { createMetadata } from '../../core/events/codec.ts'
import { type ResponseEvent, responseStream, type StoredResponse } from '../../core/events/domain-events.ts'
import { createClock } from '../../core/util/clock.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { SessionMemory } from './session-memory.ts'
import { appendResponse, readResponse } from './stored-events.ts'

/** Responses in the event log, by response key (see `ResponsesCall`). */
export interface ResponseStore {
  /**
   * Returns a response of the user; undefined if it does not exist, has expired or belongs to another user.
   */
  find(responseKey: string, userId: number): Promise<StoredResponse | undefined>
  /** Resolves once the response is durable. */
  save(responseKey: string, event: ResponseEvent, author: Account): Promise<unknown>
  /** Deletes the response permanently. */
  remove(responseKey: string): Promise<void>
}

/** Creates a store whose responses expire after `maxAge` whole seconds. */
export function createResponseStore(
  log: EventLog,
  accounts: Pick<Accounts, 'ownerOfKey'>,
  maxAge: number,
): ResponseStore {
  const clock = createClock()
  return {
    find: (responseKey, userId) => findResponse(log, accounts, responseKey, userId),
    save(responseKey, event, account) {
      const metadata = createMetadata({ actor: keyActor(account), requestId: `req_${responseKey}` }, clock())
      return appendResponse(log, responseStream(responseKey), event, { metadata, maxAge })
    },
    remove: (responseKey) => log.deleteStream(responseStream(responseKey)),
  }
}

/**
 * Reads a response of the user from the log; see `ResponseStore.find`. It must have been made with a key of
 * that user: after an older copy of the users was restored, the user's id may be that of somebody else then.
 */
export async function findResponse(
  log: Pick<EventLog, 'read'>,
  accounts: Pick<Accounts, 'ownerOfKey'>,
  responseKey: string,
  userId: number,
): Promise<StoredResponse | undefined> {
  const stored = await readResponse(log.read(responseStream(responseKey)))
  if (stored === undefined) return undefined
  const { response, actor } = stored
  return response.userId === userId && accounts.ownerOfKey(actor.id)?.id === userId ? response : undefined
}

/** Stores the outcome of calls, unless the caller set `store: false`. */
export interface ResponseRecorder {
  /** Returns the function that persists the response of a call whose reply has started. */
  persisterFor(exchange: EndedExchange, call: ResponsesCall): PersistResponse
  /**
   * Stores that a call failed before its reply started, without any text of the request, which the firewall
   * may not have inspected. Never rejects. See docs/decisions/responses.md, "Nothing is stored of a refused
   * request but its error".
   */
  recordFailure(exchange: EndedExchange, call: ResponsesCall, error: unknown): Promise<void>
}

export function createResponseRecorder(
  store: ResponseStore,
  memory: Pick<SessionMemory, 'remember'>,
  logger: Logger,
): ResponseRecorder {
  /** Resolves with false if the response could not be stored. */
  async function save(exchange: EndedExchange, call: ResponsesCall, outcome: Outcome): Promise<boolean> {
    const data: StoredResponse = { userId: exchange.account.userId, form: call.plainToolForm, ...outcome }
    const type: ResponseEvent['type'] =
      outcome.response.completed_at === null ? 'ResponseFailed' : 'ResponseCompleted'
    try {
      await store.save(call.responseKey, { type, data }, exchange.account)
      return true
    } catch (error) {
      // An unavailable log has one line per outage.
      if (!EventLogUnavailableError.isInstance(error))
        logger.error({ err: error, requestId: exchange.id }, 'response not stored')
      return false
    }
  }

  return {
    persisterFor: (exchange, call) => async (response, chunkLengths) => {
      memory.remember(exchange, call, response)
      if (response.store === false) return response
      const { messages } = exchange.request
      const input = messages.slice(messages.length - call.inputCount)
      const pace = chunkLengths && { pace: chunkLengths }
      const isStored = await save(exchange, call, { input, response, ...pace })
      // See docs/decisions/responses.md, "An answer that cannot be stored is still sent".
      return isStored ? response : withNotStoredWarning(response)
    },
    async recordFailure(exchange, call, error) {
      if (call.body.store === false) return
      const initial = buildRefusedResponse(call, exchange)
      const response = exchange.client.isAborted
        ? toCancelledResponse(initial)
        : toFailedResponse(initial, toStreamError(error))
      await save(exchange, call, { input: [], response })
    },
  }
}

type Outcome = Pick<StoredResponse, 'input' | 'response' | 'pace'>

function withNotStoredWarning(response: JsonObject): JsonObject {
  const signalbox = isJsonObject(response.signalbox) ? response.signalbox : {}
  const warnings = Array.isArray(signalbox.warnings) ? signalbox.warnings : []
  const message = 'The response could not be stored. It cannot be replayed or continued.'
  return {
    ...response,
    store: false,
    signalbox: { ...signalbox, warnings: [...warnings, { code: 'not_stored', message }] },
  }
}
