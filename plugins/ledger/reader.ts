import type { Logger } from 'pino'
import { GatewayError } from '../../core/contract/index.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import type {
  FeedbackOutcome,
  FeedbackPage,
  FeedbackQuery,
  GivenFeedback,
  RatingImport,
} from './store/feedback-queries.ts'
import type { Ledger, LedgerMethods } from './store/methods.ts'
import type {
  CopyQuery,
  CopySums,
  RequestPage,
  RequestQuery,
  StoredPrompt,
  StoredRecord,
  UsageGroup,
  UsageQuery,
} from './store/queries.ts'
import type { SeriesPoint, SeriesQuery } from './store/read-series.ts'

/** Reads the ledger, and deletes prompts. Every method rejects with `ledger_unavailable` if it is away. */
export interface LedgerReader {
  find(requestId: string): Promise<StoredRecord | undefined>
  list(query: RequestQuery): Promise<RequestPage>
  usage(query: UsageQuery): Promise<readonly UsageGroup[]>
  copies(query: CopyQuery): Promise<readonly CopySums[]>
  series(query: SeriesQuery): Promise<readonly SeriesPoint[]>
  findPrompt(requestId: string): Promise<StoredPrompt | undefined>
  /** Returns the number of prompts that were deleted. */
  deletePromptsOf(userId: number, options?: { readonly withFeedback: boolean }): Promise<number>
  /** Resolves when it is on disk. */
  giveFeedback(feedback: GivenFeedback): Promise<FeedbackOutcome>
  importRatings(imported: RatingImport): Promise<void>
  /** Deletes all imported ratings, and returns how many there were. */
  deleteImported(): Promise<number>
  listFeedback(query: FeedbackQuery): Promise<FeedbackPage>
}

/**
 * Creates a reader. `settle` writes the records that wait, of all workers, so that a request is found as soon
 * as it was answered.
 */
export function createLedgerReader(
  ledger: Pick<Ledger, 'request'>,
  settle: () => Promise<unknown>,
  logger: Logger,
): LedgerReader {
  async function read<Method extends keyof LedgerMethods>(
    method: Method,
    params: LedgerMethods[Method]['params'],
  ): Promise<LedgerMethods[Method]['result']> {
    await settle()
    try {
      return await ledger.request(method, params)
    } catch (error) {
      logger.warn({ reason: errorMessage(error) }, 'request ledger could not be read')
      throw createLedgerUnavailableError('Requests cannot be read at the moment. Retry later.', error)
    }
  }
  return {
    find: async (requestId) => (await read('ledgerFind', { requestId })).record,
    list: (query) => read('ledgerList', query),
    usage: async (query) => (await read('ledgerUsage', query)).groups,
    copies: async (query) => (await read('ledgerCopies', query)).sums,
    series: async (query) => (await read('ledgerSeries', query)).points,
    findPrompt: async (requestId) => (await read('ledgerPrompt', { requestId })).prompt,
    deletePromptsOf: async (userId, options) =>
      (await read('ledgerDeletePrompts', { userId, ...options })).deleted,
    giveFeedback: (feedback) => read('ledgerGiveFeedback', feedback),
    async importRatings(imported) {
      await read('ledgerImportRatings', imported)
    },
    async deleteImported() {
      for (let all = 0; ; ) {
        const { deleted } = await read('ledgerDeleteImported', {})
        if (deleted === 0) return all
        all += deleted
      }
    },
    listFeedback: (query) => read('ledgerFeedback', query),
  }
}

export const LEDGER_ERROR_CODES = {
  ledger_unavailable: {
    status: 503,
    type: 'service_unavailable_error',
    description: 'The request ledger is unavailable: it cannot be read, or a request that must be recorded.',
  },
} as const

export function createLedgerUnavailableError(message: string, cause?: unknown): GatewayError {
  const { status, type } = LEDGER_ERROR_CODES.ledger_unavailable
  return new GatewayError({ code: 'ledger_unavailable', status, type, message, cause, retryAfter: 1 })
}
