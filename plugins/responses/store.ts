import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import {
  type Account,
  type EndedExchange,
  errorsOf,
  isJsonObject,
  type JsonObject,
  type Message,
} from '../../core/contract/index.ts'
import type { ResponseForm } from '../../core/dialects/response-form.ts'
import { toStreamError } from '../../core/pipeline/read-reply.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { createHistogram } from '../../core/util/metrics.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { ChunkLengths } from '../../providers/shared/responses-format/output.ts'
import type { LedgerCalls } from '../ledger/index.ts'
import type { ResponsesCall } from './call.ts'
import { buildRefusedResponse, toCancelledResponse, toFailedResponse } from './response.ts'
import type { SessionMemory } from './session-memory.ts'
import type { PersistResponse } from './write-response.ts'

/** A response and what is needed to replay and to continue it. */
export interface StoredResponse {
  /** The form that plain HTTP tools see. */
  readonly form: ResponseForm
  /** The call's own input as it was sent to the model, after firewall masking. */
  readonly input: readonly Message[]
  /** The response in OpenAI's form. */
  readonly response: JsonObject
  /** How the response was split into stream events; undefined if it was not streamed. */
  readonly pace?: ChunkLengths
}

/**
 * Stored responses by response key, the 24 characters that an id shares with the id of its request. See
 * docs/decisions/responses.md, "A response and its call share 24 characters".
 */
export interface ResponseStore {
  /**
   * Returns a response of the user; undefined if it does not exist, has expired or belongs to another user.
   * This and `remove` throw 503 while the ledger is away.
   */
  find(responseKey: string, userId: number): Promise<StoredResponse | undefined>
  /** Resolves once the response is durable. Rejects immediately while the ledger is known to be away. */
  save(responseKey: string, response: StoredResponse, author: Account): Promise<void>
  /** Deletes the response for good. */
  remove(responseKey: string): Promise<void>
  close(): void
}

/** How soon a ledger that was away is tried again. */
const RETRY_MS = 1000

/**
 * Creates a store in the ledger, whose responses expire after `retentionMs`. See docs/decisions/responses.md,
 * "Responses are stored with the ledger".
 */
export function createResponseStore(
  ledger: Pick<LedgerCalls, 'saveResponse' | 'findResponse' | 'deleteResponse'>,
  accounts: Pick<Accounts, 'ownerOfKey'>,
  retentionMs: number,
): ResponseStore {
  /** Set while the ledger is away. */
  let away: Error | undefined
  let retryTimer: NodeJS.Timeout | undefined
  let isClosed = false

  function retryLater(): void {
    if (isClosed) return
    retryTimer = setTimeout(() => {
      ledger.findResponse('').then(() => {
        away = undefined
      }, retryLater)
    }, RETRY_MS).unref()
  }

  return {
    /**
     * A response must have been made with a key of its user: after an older copy of the users was restored,
     * the user's id may be that of somebody else.
     */
    async find(responseKey, userId) {
      const row = await ledger.findResponse(responseKey).catch(throwUnavailable)
      if (row?.user_id !== userId || accounts.ownerOfKey(row.key_id)?.id !== userId) return undefined
      // Safe: only `save` writes them.
      return JSON.parse(row.data) as StoredResponse
    },
    async save(responseKey, response, { userId, keyId }) {
      if (away !== undefined) throw away
      const expires = Math.ceil(Date.now() + retentionMs)
      const row = { id: responseKey, user_id: userId, key_id: keyId, expires, data: JSON.stringify(response) }
      try {
        await ledger.saveResponse(row)
      } catch (error) {
        if (away === undefined) retryLater()
        away ??= new LedgerAwayError(error)
        throw error
      }
    },
    remove: (responseKey) => ledger.deleteResponse(responseKey).catch(throwUnavailable),
    close() {
      isClosed = true
      clearTimeout(retryTimer)
    },
  }
}

/** A response was not stored, because an earlier one could not be. */
class LedgerAwayError extends Error {
  constructor(cause: unknown) {
    super(`the request ledger is away: ${errorMessage(cause)}`, { cause })
  }
}

export const STORE_ERROR_CODES = {
  responses_unavailable: {
    status: 503,
    type: 'service_unavailable_error',
    description:
      'The request ledger is unavailable, so that stored responses can be neither read nor deleted.',
  },
} as const

function throwUnavailable(cause: unknown): never {
  const message = 'Stored responses are not available at the moment. Retry later.'
  throw errorsOf(STORE_ERROR_CODES)('responses_unavailable', message, { cause, retryAfter: 1 })
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
  store: Pick<ResponseStore, 'save'>,
  memory: Pick<SessionMemory, 'remember'>,
  logger: Logger,
  metrics: Registry,
): ResponseRecorder {
  const duration = createHistogram(metrics, {
    name: 'signalbox_response_store_duration_seconds',
    help: 'Duration until a response of the Responses API is stored, by outcome: written or failed.',
    labelNames: ['outcome'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
  })

  /** Resolves with false if the response could not be stored. */
  async function save(exchange: EndedExchange, call: ResponsesCall, outcome: Outcome): Promise<boolean> {
    const startedAt = performance.now()
    const observe = (result: string) => duration(result).observe((performance.now() - startedAt) / 1000)
    try {
      await store.save(call.responseKey, { form: call.plainToolForm, ...outcome }, exchange.account)
      observe('written')
      return true
    } catch (error) {
      observe('failed')
      // An outage has one line.
      if (!(error instanceof LedgerAwayError))
        logger.error({ reason: errorMessage(error), requestId: exchange.id }, 'response not stored')
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
