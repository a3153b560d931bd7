import { encodeRecords } from './batch-encoder.ts'
import { type LedgerDatabase, type LedgerLocation, openLedgerDatabase } from './database.ts'
import { createDictionary } from './dictionary.ts'
import { claimExport, readExport, saveExport } from './export-queue.ts'
import {
  addSignal,
  deleteImported,
  giveFeedback,
  importRatings,
  listFeedback,
  readRatings,
} from './feedback.ts'
import type { RatingPage, RatingQuery } from './feedback-queries.ts'
import { findRecord, readFeatures } from './find-records.ts'
import { countRecords, listRecords } from './list-records.ts'
import type { StoreCalls } from './methods.ts'
import type { PromptCipher } from './prompt-cipher.ts'
import { deleteFeedbackOf, deletePromptsOf, findPrompt, readPrompts } from './prompts.ts'
import type { RequestQuery, StoredPrompt, StoredRecord } from './queries.ts'
import { readCopies } from './read-copies.ts'
import { readFigures } from './read-figures.ts'
import { readSeries } from './read-series.ts'
import { listSessions, listSteps } from './read-sessions.ts'
import { readLastUse, readLastUseOfUsers, readUsage, sumCosts } from './read-usage.ts'
import type { LedgerRecord } from './record.ts'
import { decodeRecords, RecordBatch } from './record-batch.ts'
import { RepeatWatch } from './repeat-watch.ts'
import { createResponseQueries, deleteResponse, deleteResponsesOf } from './responses.ts'
import { type LedgerRetention, sweepLedger } from './retention.ts'
import { deleteArgumentsOf, listToolCalls, writeToolCalls } from './tool-calls.ts'
import { TraceSlots, toRecordIds, writeRecords } from './write-records.ts'

/** The records of requests of one event log. Every method rejects if the database fails. */
export interface LedgerStore extends StoreCalls {
  /** Resolves when the records are on disk. The same record may be written again. */
  write(records: RecordBatch | readonly LedgerRecord[]): Promise<void>
  ratings(query: RatingQuery): Promise<RatingPage>
  /** Counts the requests that `list` has on all pages, up to a million. */
  count(query: Omit<RequestQuery, 'limit'>): Promise<number>
  /** Returns what is recorded of the prompts of these requests, by the id of the record. */
  promptsOf(records: readonly StoredRecord[]): Promise<ReadonlyMap<number, StoredPrompt>>
  /** Returns the kept features of prompts, by the id of the record. */
  featuresOf(ids: readonly number[]): Promise<ReadonlyMap<number, Uint8Array>>
  /** Deletes some of what is too old. True: there may be more. */
  sweep(retention: LedgerRetention, now: number): Promise<boolean>
  close(): Promise<void>
}

/**
 * Opens the ledger of an event log. `isWriter`: false for a second connection that reads only. Without
 * `cipher`, prompts are neither written nor read.
 */
export async function openLedgerStore(
  location: LedgerLocation,
  logId: string,
  { cipher, ...options }: { readonly isWriter?: boolean; readonly cipher?: PromptCipher | undefined } = {},
): Promise<LedgerStore> {
  return createLedgerStore(await openLedgerDatabase(location, logId, options), cipher)
}

function createLedgerStore(
  { db, engine, vacuum, forgetDeleted, onDisconnect }: LedgerDatabase,
  cipher: PromptCipher | undefined,
): LedgerStore {
  const createStorage = () => ({ dictionary: createDictionary(db), slots: new TraceSlots(), cipher })
  let storage = createStorage()
  // A server that was restored from a backup may have given the known ids to other texts.
  onDisconnect(() => {
    storage = createStorage()
  })
  const responses = createResponseQueries(db)
  const repeats = new RepeatWatch()
  /** Whether nothing that was deleted is left on the disk. */
  let isForgotten = false
  let writing: Promise<unknown> = Promise.resolve()
  function inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = writing.then(run)
    writing = result.catch(() => undefined)
    return result
  }

  return {
    write(records) {
      const batch = records instanceof RecordBatch ? records : decodeRecords(encodeRecords(records))
      // One after the other, because the dictionary must not change while a batch is written.
      return inTurn(async () => {
        const ids = toRecordIds(batch)
        const { within, before } = repeats.add(batch, ids)
        try {
          await writeRecords(db, storage, batch, ids, within)
          await addSignal(db, engine, before, 'asked_again')
        } catch (error) {
          repeats.undo()
          throw error
        }
      })
    },
    giveFeedback: (feedback) => inTurn(() => giveFeedback(db, engine, feedback)),
    importRatings: (imported) => inTurn(() => importRatings(db, imported)),
    deleteImported: () => inTurn(() => deleteImported(db)),
    listFeedback: (query) => listFeedback(db, query),
    ratings: (query) => readRatings(db, query),
    find: (requestId) => findRecord(db, requestId),
    findPrompt: (requestId) => findPrompt(db, cipher, requestId),
    async deletePromptsOf(userId) {
      await deleteArgumentsOf(db, userId)
      const deleted = await deletePromptsOf(db, userId)
      if (deleted > 0) isForgotten = forgetDeleted()
      return deleted
    },
    async forgetUser(userId) {
      await deleteFeedbackOf(db, userId)
      await deleteArgumentsOf(db, userId)
      while (await deleteResponsesOf(db, userId)) await new Promise(setImmediate)
      const deleted = await deletePromptsOf(db, userId)
      isForgotten = forgetDeleted()
      return deleted
    },
    saveToolCalls: (calls) => inTurn(() => writeToolCalls(db, storage, calls)),
    listToolCalls: (query) => listToolCalls(db, cipher, query),
    listSessions: (query) => listSessions(db, query),
    listSteps: (query) => listSteps(db, query),
    claimExport: (claim) => inTurn(() => claimExport(db, engine, claim)),
    saveExport: (progress) => inTurn(() => saveExport(db, progress)),
    readExport: (query) => readExport(db, query),
    saveResponse: responses.save,
    findResponse: (id) => responses.find(id, Date.now()),
    async deleteResponse(id) {
      await deleteResponse(db, id)
      isForgotten = false
    },
    list: (query) => listRecords(db, engine, query),
    figures: (query) => readFigures(db, engine, query),
    count: (query) => countRecords(db, engine, query),
    promptsOf: (records) => readPrompts(db, cipher, records),
    featuresOf: (ids) => readFeatures(db, ids),
    usage: (query) => readUsage(db, query),
    sumCosts: (query) => sumCosts(db, query),
    copies: (query) => readCopies(db, query),
    series: (query) => readSeries(db, query),
    lastUse: (keyIds) => readLastUse(db, keyIds),
    lastUseOfUsers: (userIds) => readLastUseOfUsers(db, userIds),
    async sweep(retention, now) {
      const hasMore = await sweepLedger(db, retention, now)
      if (hasMore) isForgotten = false
      vacuum()
      if (!hasMore && !isForgotten) isForgotten = forgetDeleted()
      return hasMore
    },
    async close() {
      await writing
      await db.destroy()
    },
  }
}
