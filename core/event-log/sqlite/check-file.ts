import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { startThread } from '../../threads/thread.ts'
import { errorMessage } from '../../util/error-message.ts'
import { HISTORY_FILE } from './check-folder.ts'
import { SqliteDatabase } from './database.ts'

/** A check of a smaller file takes less time than the start of a thread. */
const MIN_BYTES_FOR_THREAD = 32 * 1024 * 1024

/** As `findFileIssues`. A large file is checked in a thread of its own, while the caller reads the log. */
export async function checkSqliteFile(directory: string): Promise<readonly string[]> {
  const { size } = statSync(join(directory, HISTORY_FILE), { throwIfNoEntry: false }) ?? { size: 0 }
  if (size < MIN_BYTES_FOR_THREAD) return findFileIssues(directory)
  const worker = startThread('./check-file-worker', import.meta.url, {
    name: 'check-file',
    workerData: directory,
  })
  const [issues]: (readonly string[])[] = await once(worker, 'message')
  return issues ?? []
}

/**
 * Checks that the index by which streams are read holds the same events as the log, and that positions end
 * where the file has counted to. Returns the issues as sentences.
 */
export function findFileIssues(directory: string): readonly string[] {
  try {
    const database = new SqliteDatabase(join(directory, HISTORY_FILE), { readonly: true })
    try {
      return [...findDamage(database), ...findRemovedEnd(database)]
    } finally {
      database.close()
    }
  } catch (error) {
    return [`${HISTORY_FILE} cannot be checked: ${errorMessage(error)}.`]
  }
}

function findDamage(database: SqliteDatabase): readonly string[] {
  const found = database.prepare<[], string>('PRAGMA integrity_check(3)').pluck().all()
  return found.filter((issue) => issue !== 'ok').map((issue) => `${HISTORY_FILE} is damaged: ${issue}.`)
}

/** SQLite keeps the highest position that was ever assigned. */
function findRemovedEnd(database: SqliteDatabase): readonly string[] {
  const [assigned, newest] = database
    .prepare<[], [number | null, number | null]>(
      "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'events'), (SELECT max(position) FROM events)",
    )
    .raw()
    .get() ?? [0, 0]
  if ((assigned ?? 0) === (newest ?? 0)) return []
  return [`${HISTORY_FILE} has assigned position ${assigned}, but its newest event is at ${newest}.`]
}
