import { type LedgerDatabase, type LedgerLocation, openLedgerDatabase } from './database.ts'
import { createDictionary } from './dictionary.ts'
import { findRecord } from './find-records.ts'
import { listRecords } from './list-records.ts'
import type {
  CostQuery,
  CostSum,
  RequestPage,
  RequestQuery,
  StoredRecord,
  UsageGroup,
  UsageQuery,
} from './queries.ts'
import { type LastUse, readLastUse } from './read-last-use.ts'
import { readUsage, sumCosts } from './read-usage.ts'
import type { LedgerRecord } from './record.ts'
import { type LedgerRetention, sweepLedger } from './retention.ts'
import { writeRecords } from './write-records.ts'

/** The records of requests of one event log. Every method rejects if the database fails. */
export interface LedgerStore {
  /** Resolves when the records are on disk. The same record may be written again. */
  write(records: readonly LedgerRecord[]): Promise<void>
  find(requestId: string): Promise<StoredRecord | undefined>
  list(query: RequestQuery): Promise<RequestPage>
  usage(query: UsageQuery): Promise<readonly UsageGroup[]>
  /** Returns the hour of the last request of each key of a user that was used. */
  lastUse(userId: number): Promise<readonly LastUse[]>
  sumCosts(query: CostQuery): Promise<CostSum>
  /** Deletes some of what is too old. Returns true if there may be more. */
  sweep(retention: LedgerRetention, now: number): Promise<boolean>
  close(): Promise<void>
}

/** Opens the ledger of an event log. `isWriter`: false for a second connection that reads only. */
export async function openLedgerStore(
  location: LedgerLocation,
  logId: string,
  options?: { readonly isWriter?: boolean },
): Promise<LedgerStore> {
  return createLedgerStore(await openLedgerDatabase(location, logId, options))
}

function createLedgerStore({ db, engine, vacuum }: LedgerDatabase): LedgerStore {
  const dictionary = createDictionary(db)
  let writing: Promise<unknown> = Promise.resolve()
  return {
    write(records) {
      // One after the other, because the dictionary must not change while a batch is written.
      const written = writing.then(() => writeRecords(db, dictionary, records))
      writing = written.catch(() => undefined)
      return written
    },
    find: (requestId) => findRecord(db, requestId),
    list: (query) => listRecords(db, engine, query),
    usage: (query) => readUsage(db, query),
    sumCosts: (query) => sumCosts(db, query),
    lastUse: (userId) => readLastUse(db, userId),
    async sweep(retention, now) {
      const hasMore = await sweepLedger(db, retention, now)
      vacuum()
      return hasMore
    },
    async close() {
      await writing
      await db.destroy()
    },
  }
}
