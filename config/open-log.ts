import type { EventLog } from '../core/contract/index.ts'
import { openSqliteLog } from '../core/log/sqlite-log.ts'
import type { Settings } from './settings.ts'

export type LogSettings = Pick<Settings, 'data_dir' | 'eventstore_url'>

/** Opens the log that the settings name. Rejects with `LogUnavailable`. */
export async function openLog({ data_dir, eventstore_url }: LogSettings): Promise<EventLog> {
  if (!eventstore_url) return openSqliteLog({ directory: data_dir })
  // Its client is a third of all that a start would load.
  const { openEventStoreLog } = await import('../core/log/eventstore-log.ts')
  return openEventStoreLog({ connectionString: eventstore_url })
}
