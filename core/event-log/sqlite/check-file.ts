import { join } from 'node:path'
import { errorMessage } from '../../util/error-message.ts'
import { HISTORY_FILE } from './check-folder.ts'
import { SqliteDatabase } from './database.ts'

/**
 * Checks that the index by which streams are read holds the same events as the log, and that positions end
 * where the file has counted to. Returns the issues as sentences.
 */
export function checkSqliteFile(directory: string): readonly string[] {
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
