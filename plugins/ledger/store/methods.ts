import type { SetAsideFile } from '../../../core/event-log/sqlite/damaged-files.ts'
import type { EncryptionKey } from '../../../core/secrets/encryption-keys.ts'
import type { LedgerLocation } from './database.ts'
import type { ExportClaim, ExportPage, ExportProgress, ExportQuery, ExportState } from './export-queue.ts'
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
import type { RequestFigures } from './read-figures.ts'
import type { SeriesPoint, SeriesQuery } from './read-series.ts'
import type { SessionPage, SessionQuery, StepPage, StepQuery } from './read-sessions.ts'
import type { LastUse, UserLastUse } from './read-usage.ts'
import type { EncodedRecords } from './record-batch.ts'
import type { LedgerRetention } from './retention.ts'
import type { ResponseRow } from './tables.ts'
import type { LedgerTail } from './tail.ts'
import type { NewToolCall, StoredToolCall, ToolCallQuery } from './tool-calls.ts'

/** A method of a ledger, which is in another thread or in another process. */
interface Method<Params, Result> {
  /** Milliseconds after which a call is given up. Of a write, it is unknown whether it has happened. */
  readonly timeoutMs: number
  readonly thread: 'reader' | 'writer'
  /** Exists only for the compiler. */
  readonly types?: (params: Params) => Result
}

/** Reads of a file have a thread of their own: a sum over a month must not delay a refusal. */
const read = <Params, Result>(timeoutMs: number): Method<Params, Result> => ({ timeoutMs, thread: 'reader' })

/** Also for reads of what was written last, which the thread that writes knows. */
const write = <Params, Result>(timeoutMs: number): Method<Params, Result> => ({ timeoutMs, thread: 'writer' })

/** The methods that a store implements. */
const STORE_METHODS = {
  find: read<string, StoredRecord | undefined>(5000),
  list: read<RequestQuery, RequestPage>(15_000),
  /** Returns figures of the newest requests that pass a filter. */
  figures: read<Pick<RequestQuery, 'filter' | 'limit'>, RequestFigures>(15_000),
  usage: read<UsageQuery, readonly UsageGroup[]>(30_000),
  sumCosts: read<CostQuery, CostSum>(15_000),
  /** Returns sums of the copies for other models, by rule and model. */
  copies: read<CopyQuery, readonly CopySums[]>(30_000),
  /** Returns the steps of a range that have requests, in order. */
  series: read<SeriesQuery, readonly SeriesPoint[]>(30_000),
  /** Returns the hour of the last request of each of the keys that was used. */
  lastUse: read<readonly string[], readonly LastUse[]>(15_000),
  /** The same of users, whether they have keys or tokens. */
  lastUseOfUsers: read<readonly number[], readonly UserLastUse[]>(15_000),
  findPrompt: read<string, StoredPrompt | undefined>(5000),
  /** Deletes the prompts of a user and their features for good. Returns how many prompts there were. */
  deletePromptsOf: write<number, number>(60_000),
  /**
   * Deletes the prompts and the stored responses of a user, and what was said about the user's requests.
   * Returns how many prompts there were. Records and usage stay.
   */
  forgetUser: write<number, number>(60_000),
  /** Resolves when it is on disk. */
  giveFeedback: write<GivenFeedback, FeedbackOutcome>(15_000),
  listFeedback: read<FeedbackQuery, FeedbackPage>(15_000),
  importRatings: write<RatingImport, void>(15_000),
  /** Deletes some of the imported ratings, and returns how many. */
  deleteImported: write<void, number>(15_000),
  /** Resolves when it is on disk. */
  saveResponse: write<ResponseRow, void>(5000),
  /** Returns undefined for a response that has expired. */
  findResponse: write<string, ResponseRow | undefined>(5000),
  /** Resolves when they are on disk. The same call may be saved again. */
  saveToolCalls: write<readonly NewToolCall[], void>(15_000),
  listToolCalls: read<ToolCallQuery, readonly StoredToolCall[]>(15_000),
  listSessions: read<SessionQuery, SessionPage>(15_000),
  /** Returns what happened in a session, in order. */
  listSteps: read<StepQuery, StepPage>(15_000),
  /** Registers a target of the export, and takes or renews its lease. */
  claimExport: write<ExportClaim, ExportState>(15_000),
  /** Resolves with false if another process has the target by now. */
  saveExport: write<ExportProgress, boolean>(15_000),
  /** Returns records in the order in which they were committed. */
  readExport: read<ExportQuery, ExportPage>(15_000),
  /** Deletes a response for good. */
  deleteResponse: write<string, void>(5000),
}

/** Every method of a ledger, declared once. */
export const LEDGER_METHODS = {
  ...STORE_METHODS,
  /**
   * Resolves when the records are on disk. Returns those that the database
   * does not accept, whatever it is asked. Only what they cost is recorded.
   */
  write: write<EncodedRecords, readonly RejectedRecord[]>(15_000),
  /** The records that were written after those of an earlier call, whose `next` is the parameter. */
  tail: write<number | undefined, LedgerTail>(5000),
}

export type LedgerMethod = keyof typeof LEDGER_METHODS

type Types<Name extends LedgerMethod> = NonNullable<(typeof LEDGER_METHODS)[Name]['types']>

type Calls<Name extends LedgerMethod> = {
  [Each in Name]: (params: Parameters<Types<Each>>[0]) => Promise<ReturnType<Types<Each>>>
}

/** The methods of a ledger. Each rejects if the ledger is unavailable. */
export type LedgerCalls = Calls<LedgerMethod>

/** Those of them that a `LedgerStore` has. */
export type StoreCalls = Calls<keyof typeof STORE_METHODS>

/** A ledger as the rest of the program uses it. */
export interface Ledger extends LedgerCalls {
  close(): Promise<void>
}

/** Creates the methods of a ledger that is reached by one function. */
export function createLedgerCalls(
  call: (method: LedgerMethod, params: unknown, timeoutMs: number) => Promise<unknown>,
): LedgerCalls {
  const calls = Object.entries(LEDGER_METHODS).map(([name, { timeoutMs }]) => [
    name,
    (params: unknown) => call(name as LedgerMethod, params, timeoutMs),
  ])
  // Safe: the other end answers with the result of the method.
  return Object.fromEntries(calls)
}

/** Calls a method by its name. */
export function callLedger(calls: LedgerCalls, { method, params }: LedgerCall): Promise<unknown> {
  return calls[method](params as never)
}

/** A call of a method on its way to another thread or process. */
export interface LedgerCall {
  readonly method: LedgerMethod
  readonly params: unknown
}

/** A record that cannot be stored. */
export interface RejectedRecord {
  readonly requestId: string
  /** Names the error, and shows nothing of the record. */
  readonly reason: string
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
  call: { params: LedgerCall & { readonly ledger: number }; result: unknown }
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
