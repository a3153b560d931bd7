import { startThread } from '../../core/process/start-thread.ts'
import type { LedgerOptions } from '../../plugins/ledger/store/methods.ts'
import { createWhatIfThread, type WhatIfThread } from '../../plugins/what-if/thread.ts'
import type { Settings } from '../settings/settings.ts'
import { toLedgerOptions } from './ledger.ts'

export interface WhatIfWorkerData {
  readonly settings: Settings
  readonly ledger: LedgerOptions
  /** The folder from which plugin packages are resolved. */
  readonly pluginFolder: string
}

/** Returns the thread that evaluates drafts on recorded requests. It starts with the first job. */
export function openWhatIfThread(settings: Settings, logId: string, pluginFolder: string): WhatIfThread {
  const workerData: WhatIfWorkerData = { settings, ledger: toLedgerOptions(settings, logId), pluginFolder }
  return createWhatIfThread(() =>
    startThread('./what-if-worker', import.meta.url, { name: 'what-if', workerData }),
  )
}
