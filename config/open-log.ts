import type { EventLog } from '../core/contract/index.ts'
import { openEventStoreLog } from '../core/log/eventstore-log.ts'
import { openSqliteLog } from '../core/log/sqlite-log.ts'
import type { Settings } from './settings.ts'

export type LogSettings = Pick<Settings, 'data_dir' | 'eventstore_url'>

/** Opens the log that the settings name. Rejects with `LogUnavailable`. */
export function openLog({ data_dir, eventstore_url }: LogSettings): Promise<EventLog> {
  return eventstore_url
    ? openEventStoreLog({ connectionString: eventstore_url })
    : openSqliteLog({ directory: data_dir })
}
