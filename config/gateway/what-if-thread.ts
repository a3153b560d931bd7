import { startThread } from '../../core/threads/thread.ts'
import type { LedgerOptions } from '../../plugins/ledger/store/methods.ts'
import { createWhatIfThread, type WhatIfThread } from '../../plugins/what-if/thread.ts'
import type { Catalog } from '../../providers/shared/catalog.ts'
import type { Settings, SettingsData } from '../settings/settings.ts'
import { toLedgerOptions } from './ledger.ts'

export interface WhatIfWorkerData {
  /** With the model catalogue of the time at which the thread starts. */
  readonly settings: SettingsData
  readonly ledger: LedgerOptions
  /** The folder from which plugin packages are resolved. */
  readonly pluginFolder: string
}

/** Returns the thread that evaluates drafts on recorded requests. It starts with the first job. */
export function openWhatIfThread(
  { rereadModels: _, report: __, ...settings }: Settings,
  catalog: Pick<Catalog, 'models'>,
  logId: string,
  pluginFolder: string,
): WhatIfThread {
  const ledger = toLedgerOptions(settings, logId)
  return createWhatIfThread(() => {
    const workerData: WhatIfWorkerData = {
      settings: { ...settings, models: catalog.models },
      ledger,
      pluginFolder,
    }
    return startThread('./what-if-worker', import.meta.url, { name: 'what-if', workerData })
  })
}
