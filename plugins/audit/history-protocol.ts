import { type ErrorCode, EventLogUnavailableError, GatewayError } from '../../core/contract/index.ts'
import { MovedResult, type RpcHandlers } from '../../core/threads/rpc.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import type { HistoryCall, HistoryResult, Present } from './history-methods.ts'

/** The methods of the thread that reads the history of rules. */
export type HistoryThreadMethods = {
  read: { params: HistoryCall & { readonly present: Present }; result: HistoryOutcome }
}

/** A call rejects only if the thread ends. */
export type HistoryOutcome =
  | { readonly result: HistoryResult }
  | { readonly refused: RefusedRead }
  | { readonly unavailable: string }
  /** Another error, such as an event that cannot be parsed. */
  | { readonly failed: string }

interface RefusedRead {
  readonly code: string
  readonly message: string
  readonly param: string | undefined
}

/** Creates the handlers of the thread. Bodies are moved to the other thread. */
export function serveHistory(
  read: (call: HistoryCall, present: Present) => Promise<HistoryResult>,
): RpcHandlers<HistoryThreadMethods> {
  return {
    async read({ present, ...call }) {
      try {
        const result = await read(call, present)
        // Safe: the encoder of the bodies does not share memory.
        const buffers = result instanceof Uint8Array ? [result.buffer as ArrayBuffer] : []
        return new MovedResult<HistoryOutcome>({ result }, buffers)
      } catch (error) {
        if (EventLogUnavailableError.isInstance(error)) return { unavailable: errorMessage(error) }
        if (!GatewayError.isInstance(error)) return { failed: errorMessage(error) }
        const { code, message, details } = error
        return { refused: { code, message, param: details.param } }
      }
    },
  }
}

/** Returns the result, or throws the error that the thread has caught. */
export function resultOf(outcome: HistoryOutcome): HistoryResult {
  if ('result' in outcome) return outcome.result
  if ('failed' in outcome) throw new Error(outcome.failed)
  if ('unavailable' in outcome) throw new EventLogUnavailableError(outcome.unavailable)
  const { code, message, param } = outcome.refused
  // Safe: the errors of reads have codes of the gateway.
  throw new GatewayError(code as ErrorCode, message, param === undefined ? {} : { param })
}
