import { join } from 'node:path'
import { callThread, startThread } from '../../threads/thread.ts'
import { HISTORY_FILE } from './check-folder.ts'

/** Methods of the thread that checks database files. `issue` is missing if there is none. */
export type CheckMethods = {
  findIssues: { params: { readonly directory: string }; result: { readonly issues: readonly string[] } }
  quickCheck: { params: { readonly file: string }; result: { readonly issue?: string } }
}

const startWorker = () => startThread('./check-file-worker', import.meta.url, { name: 'check-file' })

/**
 * Checks that the index by which streams are read holds the same events as the log, and that positions end
 * where the file has counted to. Returns the issues as sentences.
 */
export async function checkSqliteFile(directory: string): Promise<readonly string[]> {
  return (await callThread<CheckMethods, 'findIssues'>(startWorker(), 'findIssues', { directory })).issues
}

/**
 * Checks the pages of `events.db`, without keeping the process alive. Resolves with SQLite's first issue, or
 * with undefined if there is none or the signal aborts.
 */
export async function quickCheckHistory(directory: string, signal: AbortSignal): Promise<string | undefined> {
  if (signal.aborted) return undefined
  const worker = startWorker()
  const params = { file: join(directory, HISTORY_FILE) }
  const options = { signal, keepsAlive: false }
  const checked = callThread<CheckMethods, 'quickCheck'>(worker, 'quickCheck', params, options)
  return checked.then(
    ({ issue }) => issue,
    (error: unknown) => {
      if (signal.aborted) return undefined
      throw error
    },
  )
}
