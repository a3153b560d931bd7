import type { Logger } from 'pino'
import {
  type Account,
  type EventLog,
  type Exchange,
  isJsonObject,
  type JsonObject,
} from '../../core/contract/index.ts'
import { toStreamError } from '../../core/dialects/reply-events.ts'
import type { ResponsesCall } from '../../core/dialects/responses/call.ts'
import {
  buildInitialResponse,
  toCancelledResponse,
  toFailedResponse,
} from '../../core/dialects/responses/response.ts'
import type { PersistResponse } from '../../core/dialects/responses/write-response.ts'
import { createMetadata } from '../../core/events/codec.ts'
import {
  type ChunkLengths,
  type ResponseEvent,
  responseStream,
  type StoredResponse,
} from '../../core/events/domain-events.ts'
import { createClock } from '../../core/util/clock.ts'

/** Responses on the event log, by seed: the 24 characters that `resp_…` shares with the `req_…` of its call. */
export interface ResponseStore {
  /** The user's response; undefined for one that is another user's, is gone, or was never there. */
  find(seed: string, userId: number): Promise<StoredResponse | undefined>
  /** Resolves when it is on disk. */
  save(seed: string, event: ResponseEvent, by: Account): Promise<unknown>
  /** For good. */
  remove(seed: string): Promise<void>
}

/** `maxAge` in whole seconds. */
export function createResponseStore(log: EventLog, maxAge: number): ResponseStore {
  const clock = createClock()
  return {
    find: (seed, userId) => findResponse(log, seed, userId),
    save(seed, { type, data }, { keyId }) {
      const metadata = createMetadata(keyId, clock(), `req_${seed}`)
      // The cast is safe: it is what JSON can hold.
      const event = { type, data: data as StoredResponse & JsonObject }
      return log.append(responseStream(seed), [event], { expectedRevision: -1, metadata, maxAge })
    },
    remove: (seed) => log.deleteStream(responseStream(seed)),
  }
}

/** The user's response, as `ResponseStore` finds it. */
export async function findResponse(
  log: Pick<EventLog, 'read'>,
  seed: string,
  userId: number,
): Promise<StoredResponse | undefined> {
  for await (const { data } of log.read(responseStream(seed))) {
    // The cast is safe: only `save` writes to these streams.
    const stored = data as unknown as StoredResponse
    return stored.userId === userId ? stored : undefined
  }
  return undefined
}

/** Keeps what calls lead to, unless the caller said `store: false`. */
export interface ResponseRecorder {
  /** For an answer that has begun. */
  persisterFor(exchange: Exchange, call: ResponsesCall): PersistResponse
  /** Keeps that a call failed before its answer began; nothing of its texts, which the firewall may not have seen. Never rejects. */
  recordFailure(exchange: Exchange, call: ResponsesCall, error: unknown): Promise<void>
}

export function createResponseRecorder(store: ResponseStore, logger: Logger): ResponseRecorder {
  async function save(exchange: Exchange, call: ResponsesCall, kept: Kept): Promise<boolean> {
    const data: StoredResponse = { userId: exchange.account.userId, form: call.form, ...kept }
    const type: ResponseEvent['type'] =
      kept.response.completed_at === null ? 'ResponseFailed' : 'ResponseCompleted'
    try {
      await store.save(call.responseKey, { type, data }, exchange.account)
      return true
    } catch (error) {
      logger.error({ err: error, requestId: exchange.id }, 'a response could not be stored')
      return false
    }
  }

  return {
    persisterFor: (exchange, call) => async (response, pace) => {
      if (response.store === false) return response
      const input = exchange.request.messages.slice(-call.inputCount)
      const isKept = await save(exchange, call, { input, response, ...(pace && { pace }) })
      // The model's answer is worth having all the same.
      return isKept ? response : sayNotKept(response)
    },
    async recordFailure(exchange, call, error) {
      if (call.body.store === false) return
      const opened = { ...buildInitialResponse(call, exchange), instructions: null }
      const response = exchange.client.isAborted
        ? toCancelledResponse(opened)
        : toFailedResponse(opened, toStreamError(error))
      await save(exchange, call, { input: [], response })
    },
  }
}

interface Kept extends Pick<StoredResponse, 'input' | 'response'> {
  readonly pace?: ChunkLengths
}

function sayNotKept(response: JsonObject): JsonObject {
  const metadata = isJsonObject(response.metadata) ? response.metadata : {}
  const warnings = Array.isArray(metadata.warnings) ? metadata.warnings : []
  const message = 'The response could not be stored: it cannot be replayed or continued.'
  return {
    ...response,
    store: false,
    metadata: { ...metadata, warnings: [...warnings, { code: 'not_stored', message }] },
  }
}
