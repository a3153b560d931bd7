import type { SetAsideFile } from '../../../core/event-log/sqlite/damaged-files.ts'
import type { EncryptionKey } from '../../../core/util/encryption-keys.ts'
import type { LedgerLocation } from './database.ts'
import type {
  FeedbackOutcome,
  FeedbackPage,
  FeedbackQuery,
  GivenFeedback,
  RatingImport,
} from './feedback-queries.ts'
import type {
  CopyQuery,
  CopySums,
  CostQuery,
  CostSum,
  RequestPage,
  RequestQuery,
  StoredPrompt,
  StoredRecord,
  UsageGroup,
  UsageQuery,
} from './queries.ts'
import type { LastUse } from './read-last-use.ts'
import type { SeriesPoint, SeriesQuery } from './read-series.ts'
import type { LedgerRetention } from './retention.ts'
import type { LedgerTail } from './tail.ts'

/** The methods of a ledger, which is in another thread or in another process. */
export type LedgerMethods = {
  /** Resolves when the records are on disk. `records` is what `encodeRecords` returns. */
  ledgerWrite: { params: { readonly records: string }; result: LedgerWriteResult }
  ledgerFind: { params: { readonly requestId: string }; result: { readonly record?: StoredRecord } }
  ledgerList: { params: RequestQuery; result: RequestPage }
  ledgerUsage: { params: UsageQuery; result: { readonly groups: readonly UsageGroup[] } }
  ledgerCosts: { params: CostQuery; result: CostSum }
  ledgerPrompt: { params: { readonly requestId: string }; result: { readonly prompt?: StoredPrompt } }
  /** Deletes the prompts of a user, and their features. */
  ledgerDeletePrompts: {
    params: { readonly userId: number; readonly withFeedback?: boolean }
    result: { readonly deleted: number }
  }
  ledgerGiveFeedback: { params: GivenFeedback; result: FeedbackOutcome }
  ledgerFeedback: { params: FeedbackQuery; result: FeedbackPage }
  ledgerImportRatings: { params: RatingImport; result: Readonly<Record<never, never>> }
  /** Deletes some of what was imported. */
  ledgerDeleteImported: { params: Readonly<Record<never, never>>; result: { readonly deleted: number } }
  ledgerLastUse: { params: { readonly userId: number }; result: { readonly keys: readonly LastUse[] } }
  ledgerCopies: { params: CopyQuery; result: { readonly sums: readonly CopySums[] } }
  ledgerSeries: { params: SeriesQuery; result: { readonly points: readonly SeriesPoint[] } }
  /** The records that were written after those of an earlier call, whose `next` is `after`. */
  ledgerTail: { params: { readonly after?: number }; result: LedgerTail }
}

export interface LedgerWriteResult {
  /** Records that the database does not accept, whatever it is asked. Only what they cost is recorded. */
  readonly rejected: readonly RejectedRecord[]
}

/** A record that cannot be stored. */
export interface RejectedRecord {
  readonly requestId: string
  /** Names the error, and shows nothing of the record. */
  readonly reason: string
}

/** Milliseconds after which a call is given up. Of a write, it is unknown whether it has happened. */
export const LEDGER_TIMEOUTS_MS: Readonly<Record<keyof LedgerMethods, number>> = {
  ledgerWrite: 15_000,
  ledgerFind: 5000,
  ledgerList: 15_000,
  ledgerUsage: 30_000,
  ledgerCosts: 15_000,
  ledgerPrompt: 5000,
  ledgerDeletePrompts: 60_000,
  ledgerGiveFeedback: 15_000,
  ledgerFeedback: 15_000,
  ledgerImportRatings: 15_000,
  ledgerDeleteImported: 15_000,
  ledgerLastUse: 5000,
  ledgerCopies: 30_000,
  ledgerSeries: 30_000,
  ledgerTail: 5000,
}

/** A ledger as the rest of the program uses it. */
export interface Ledger {
  /** Rejects if the ledger is unavailable. */
  request<Method extends keyof LedgerMethods>(
    method: Method,
    params: LedgerMethods[Method]['params'],
  ): Promise<LedgerMethods[Method]['result']>
  close(): Promise<void>
}

/** A ledger to open. */
export interface LedgerOptions {
  readonly location: LedgerLocation
  /** The event log that the ledger belongs to. */
  readonly logId: string
  readonly retention: LedgerRetention
  /** What prompts are encrypted with; empty if they are neither recorded nor read. */
  readonly keys: readonly EncryptionKey[]
}

export interface OpenLedgerParams extends LedgerOptions {
  readonly isWriter: boolean
  /** Identifies the part of the process that opens the ledger. */
  readonly owner: number
}

/** The methods of a thread, which serves any number of ledgers. */
export type LedgerThreadMethods = {
  open: { params: OpenLedgerParams; result: OpenedLedger }
  close: { params: { readonly ledger: number }; result: Readonly<Record<never, never>> }
} & {
  [Method in keyof LedgerMethods]: {
    params: { readonly ledger: number; readonly call: LedgerMethods[Method]['params'] }
    result: LedgerMethods[Method]['result']
  }
}

export interface OpenedLedger {
  readonly ledger: number
}

/** A file that belonged to another event log. */
export interface ForeignFile {
  readonly movedTo: string
}

/** The methods of the process that a thread calls. */
export type LedgerOwnerMethods = {
  /** A file was moved, and an empty one takes its place. Called before the ledger is open, too. */
  movedFile: {
    params: { readonly owner: number; readonly file: SetAsideFile | ForeignFile }
    result: Readonly<Record<never, never>>
  }
}

/**
 * The first start of a large ledger after an upgrade may have to change its tables, which must not be begun
 * again before it has ended. Calls wait no longer than they do for an open ledger.
 */
export const OPEN_TIMEOUT_MS = 7_200_000
