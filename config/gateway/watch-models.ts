import { existsSync, type Stats, unwatchFile, watchFile } from 'node:fs'
import type { Logger } from 'pino'
import { errorMessage } from '../../core/util/error-message.ts'
import type { Providers } from '../../providers/shared/providers.ts'
import { updatedModelsFile } from '../settings/model-list.ts'
import type { Settings } from '../settings/settings.ts'
import { SettingsError } from '../settings/settings-error.ts'

const INTERVAL_MS = 1000

/**
 * Replaces the rows of the catalogue when `models.yaml` in the data folder changes. If it is invalid, the
 * catalogue keeps its rows. Polls, because the folder also has the event log, which changes all the time.
 */
export function watchModels(
  { data_dir, rereadModels }: Pick<Settings, 'data_dir' | 'rereadModels'>,
  { catalog, checkModels }: Pick<Providers, 'catalog' | 'checkModels'>,
  logger: Logger,
): { close(): Promise<void> } {
  const file = updatedModelsFile(data_dir)
  function tryToReplace(): boolean {
    try {
      const rows = rereadModels()
      checkModels(rows)
      catalog.replace(rows)
      return true
    } catch (error) {
      const issues = error instanceof SettingsError ? error.issues : [errorMessage(error)]
      logger.error({ file, issues }, 'model catalogue not reloaded; the current rows stay in force')
      return false
    }
  }
  function reload(current: Stats, previous: Stats): void {
    if (current.mtimeMs === previous.mtimeMs && current.ino === previous.ino) return
    if (tryToReplace()) logger.info({ file, models: catalog.models.length }, 'model catalogue reloaded')
  }
  // An update may have come since the settings were read.
  if (existsSync(file)) tryToReplace()
  watchFile(file, { interval: INTERVAL_MS, persistent: false }, reload)
  return {
    async close() {
      unwatchFile(file, reload)
    },
  }
}
