import type { Logger } from 'pino'
import { errorsOf, type GatewayError } from '../../core/contract/index.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { callLedger, createLedgerCalls, type LedgerCalls } from './store/methods.ts'

/** A ledger for endpoints. Every method rejects with `ledger_unavailable` if the ledger is away. */
export type LedgerReader = LedgerCalls

/**
 * Creates a reader. `settle` writes the records that wait, of all workers, so that a request is found as soon
 * as it was answered.
 */
export function createLedgerReader(
  ledger: LedgerCalls,
  settle: () => Promise<unknown>,
  logger: Logger,
): LedgerReader {
  return createLedgerCalls(async (method, params) => {
    await settle()
    try {
      return await callLedger(ledger, { method, params })
    } catch (error) {
      logger.warn({ reason: errorMessage(error) }, 'request ledger could not be read')
      throw createLedgerUnavailableError('Requests cannot be read at the moment. Retry later.', error)
    }
  })
}

export const LEDGER_ERROR_CODES = {
  ledger_unavailable: {
    status: 503,
    type: 'service_unavailable_error',
    description: 'The request ledger is unavailable: it cannot be read, or a request that must be recorded.',
  },
} as const

export function createLedgerUnavailableError(message: string, cause?: unknown): GatewayError {
  return errorsOf(LEDGER_ERROR_CODES)('ledger_unavailable', message, { cause, retryAfter: 1 })
}
