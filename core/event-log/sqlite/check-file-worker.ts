import { join } from 'node:path'
import { serveThread } from '../../threads/thread.ts'
import { errorMessage } from '../../util/error-message.ts'
import type { CheckMethods } from './check-file.ts'
import { HISTORY_FILE } from './check-folder.ts'
import { SqliteDatabase } from './database.ts'
import { isDamageError } from './set-aside.ts'

/** Thread that checks database files. */

serveThread<Record<never, never>, CheckMethods>({
  findIssues: ({ directory }) => ({ issues: findIssues(join(directory, HISTORY_FILE)) }),
  quickCheck({ file }) {
    const issue = quickCheck(file)
    return issue === undefined ? {} : { issue }
  },
})

function findIssues(file: string): readonly string[] {
  try {
    return withDatabase(file, (database) => [...findDamage(database), ...findRemovedEnd(database)])
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

function quickCheck(file: string): string | undefined {
  try {
    return withDatabase(file, (database) => {
      const issue = database.prepare<[], string>('PRAGMA quick_check(1)').pluck().get()
      return issue === 'ok' ? undefined : issue
    })
  } catch (error) {
    if (isDamageError(error)) return error.message
    throw error
  }
}

function withDatabase<Result>(file: string, use: (database: SqliteDatabase) => Result): Result {
  const database = new SqliteDatabase(file, { readonly: true, fileMustExist: true })
  try {
    return use(database)
  } finally {
    database.close()
  }
}
