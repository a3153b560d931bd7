import { type EndedExchange, service } from '../../core/contract/index.ts'
import { createLedgerUnavailableError } from './reader.ts'
import type { LedgerCalls } from './store/methods.ts'
import type { StoredRecord } from './store/queries.ts'
import type { ToolCallRecord } from './store/tool-calls.ts'
import type { CalledArguments } from './tool-calls.ts'

export { costOfEnded } from './ended-cost.ts'
export { createLedgerReader, createLedgerUnavailableError, type LedgerReader } from './reader.ts'
export { findRecordedKept, keptEntryOf, RecordedKept } from './recorded-kept.ts'
export { parseRequestFilter } from './request-endpoints.ts'
export {
  adminRequestQuery,
  feedbackFields,
  nullableText,
  RecordedErrorSchema,
  RequestRecordSchema,
  requestId,
  scoreBound,
  userFilter,
} from './schemas.ts'
export { isRecordInScope, narrowRecord, toGroupFilter } from './scoped-records.ts'
export { showFeedback, showRecord } from './show-record.ts'
export { CopyOf, CopyTarget, RecordedFeatures, WorstCase } from './slots.ts'
export type {
  FeedbackCursor,
  FeedbackFilter,
  ImportedRating,
  RatingPage,
  RatingQuery,
  StoredFeedback,
} from './store/feedback-queries.ts'
export type { LedgerCalls } from './store/methods.ts'
export type {
  CostQuery,
  CostSum,
  RequestFilter,
  RequestPage,
  RequestQuery,
  StoredPrompt,
  StoredRecord,
  UsageGroup,
} from './store/queries.ts'
export type { SeriesPoint } from './store/read-series.ts'
export type { PromptContent, PromptOmission } from './store/record.ts'
export { DAY_MS, HOUR_MS, timeOfRecordId } from './store/record-id.ts'
export type {
  StoredToolCall,
  ToolCallFilter,
  ToolCallQuery,
  ToolCallRecord,
  ToolCallRule,
  ToolCallVerdict,
} from './store/tool-calls.ts'
export { parseTimeRange } from './time-parameter.ts'
export type { CalledArguments } from './tool-calls.ts'

/** Where records are, whether the plugin that writes them is listed or not. The gateway opens it. */
export const LedgerStore = service<LedgerCalls>('ledger.store')

/** The other workers of a cluster. */
export interface LedgerCluster {
  /** Resolves when they have written the records that wait. */
  flushLedgers(): Promise<void>
  /** Registers what they call. */
  onFlushLedger(flush: () => Promise<unknown>): void
}

/** Undefined in a single process. */
export const LedgerPeers = service<LedgerCluster | undefined>('ledger.peers')

/** The records of requests. */
export interface Ledger extends LedgerCalls {
  /** Resolves when the records of all workers are written, or the store is unavailable. */
  flush(): Promise<void>
  /** As `flush`; rejects if the store is unavailable. */
  settle(): Promise<void>
  /** Finds a record, with those that are not written yet. Throws 503 while the store is unavailable. */
  lookUp(requestId: string): Promise<StoredRecord | undefined>
  /** Calls the listener with the ids of requests of this process whose records are written. */
  onRecorded(listener: (requestId: string) => void): void
  /** Records a copy of a request whose reply was read, or that failed. The prompt is not recorded again. */
  recordCopy(exchange: EndedExchange, error: unknown): void
}

export const Ledger = service<Ledger>('ledger')

/** Takes records of tool calls. They are written within a second. */
export interface ToolCallLedger {
  record(call: ToolCallRecord, called?: CalledArguments): void
}

export const ToolCallLedger = service<ToolCallLedger>('ledger.tool-calls')

/** Reads a store whose records that wait `flush` writes. */
export function createLedgerAccess(
  store: LedgerCalls,
  flush: () => Promise<unknown>,
): Omit<Ledger, 'onRecorded' | 'recordCopy'> {
  const find = async (requestId: string) => {
    await flush()
    return store.find(requestId)
  }
  return {
    ...store,
    flush: async () => void (await flush()),
    settle: async () => void (await find('')),
    lookUp: (requestId) =>
      find(requestId).catch((cause: unknown) => {
        throw createLedgerUnavailableError('Requests cannot be read at the moment. Retry later.', cause)
      }),
  }
}

/** For gateways that do not list the plugin: nothing is recorded, and earlier records can be read. */
export function createUnrecordedLedger(store: LedgerCalls): Ledger {
  const ignore = () => undefined
  return { ...createLedgerAccess(store, async () => undefined), onRecorded: ignore, recordCopy: ignore }
}
