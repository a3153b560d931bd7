import { parentPort, workerData } from 'node:worker_threads'
import { SqliteDatabase } from './database.ts'
import { isDamageError } from './set-aside.ts'

/** Thread that checks a database file once. Posts an issue, or undefined if there is none, and ends. */

function findIssue(file: string): string | undefined {
  const database = new SqliteDatabase(file, { readonly: true, fileMustExist: true })
  try {
    const issue = database.prepare<[], string>('PRAGMA quick_check(1)').pluck().get()
    return issue === 'ok' ? undefined : issue
  } catch (error) {
    if (isDamageError(error)) return error.message
    throw error
  } finally {
    database.close()
  }
}

parentPort?.postMessage(findIssue(String(workerData)))
