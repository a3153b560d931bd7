import type { Logger } from 'pino'
import { type Exchange, isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import type { ResponsesCall } from '../../core/dialects/responses/call.ts'
import type { PersistResponse } from '../../core/dialects/responses/keep.ts'
import { cancelResponse, failResponse, openResponse } from '../../core/dialects/responses/response.ts'
import { toStreamError } from '../../core/dialects/stream-fault.ts'
import type { ChunkLengths, ResponseEvent, StoredResponse } from '../../core/events/responses.ts'
import type { ResponseStore } from './store.ts'

/** Keeps what calls lead to, unless the caller said `store: false`. */
export interface ResponseRecorder {
  /** For an answer that has begun. */
  keepFor(exchange: Exchange, call: ResponsesCall): PersistResponse
  /** Keeps that a call failed before its answer began; nothing of its texts, which the firewall may not have seen. Never rejects. */
  noteFailure(exchange: Exchange, call: ResponsesCall, error: unknown): Promise<void>
}

export function createResponseRecorder(store: ResponseStore, logger: Logger): ResponseRecorder {
  async function save(exchange: Exchange, call: ResponsesCall, kept: Kept): Promise<boolean> {
    const data: StoredResponse = { userId: exchange.account.userId, form: call.form, ...kept }
    const type: ResponseEvent['type'] =
      kept.response.completed_at === null ? 'ResponseFailed' : 'ResponseCompleted'
    try {
      await store.save(call.seed, { type, data }, exchange.account)
      return true
    } catch (error) {
      logger.error({ err: error, requestId: exchange.id }, 'a response could not be stored')
      return false
    }
  }

  return {
    keepFor: (exchange, call) => async (response, pace) => {
      if (response.store === false) return response
      const input = exchange.request.messages.slice(-call.inputCount)
      const isKept = await save(exchange, call, { input, response, ...(pace && { pace }) })
      // The model's answer is worth having all the same.
      return isKept ? response : sayNotKept(response)
    },
    async noteFailure(exchange, call, error) {
      if (call.body.store === false) return
      const opened = { ...openResponse(call, exchange), instructions: null }
      const response = exchange.client.isAborted
        ? cancelResponse(opened)
        : failResponse(opened, toStreamError(error))
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
