import { startThread } from '../../core/threads/thread.ts'
import { createHistoryThread, type HistoryThread } from '../../plugins/audit/history-thread.ts'
import type { LogSettings } from './state.ts'

export interface RuleHistoryWorkerData {
  readonly log: LogSettings
  /** Of the log that the process serves; no other one is read. */
  readonly logId: string
}

/** The heap of the thread. What it keeps takes about 50 MB, a history of 12,000 events 30 MB more. */
const MAX_HEAP_MB = 400

/** Returns the thread that reads long histories. It starts with the first one. */
export function openRuleHistoryThread(
  { data_dir, eventstore_url }: LogSettings,
  logId: string,
): HistoryThread {
  const log = { data_dir, ...(eventstore_url && { eventstore_url }) }
  const workerData: RuleHistoryWorkerData = { log, logId }
  return createHistoryThread(() =>
    startThread('./rule-history-worker', import.meta.url, {
      name: 'rule-history',
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    }),
  )
}
