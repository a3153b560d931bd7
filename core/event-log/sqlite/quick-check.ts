import { once } from 'node:events'
import { join } from 'node:path'
import { startThread } from '../../threads/thread.ts'
import { HISTORY_FILE } from './check-folder.ts'

/**
 * Checks the pages of `events.db` in a thread of its own. Resolves with SQLite's first issue, or with
 * undefined if there is none or the signal aborts.
 */
export async function quickCheckHistory(directory: string, signal: AbortSignal): Promise<string | undefined> {
  if (signal.aborted) return undefined
  const options = { name: 'quick-check', workerData: join(directory, HISTORY_FILE) }
  const worker = startThread('./quick-check-worker', import.meta.url, options)
  worker.unref()
  const stop = () => void worker.terminate()
  signal.addEventListener('abort', stop)
  try {
    const [issue] = await once(worker, 'message', { signal })
    return typeof issue === 'string' ? issue : undefined
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
