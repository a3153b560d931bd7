import { backUpSqliteLog, type FileBackup } from '../../core/event-log/sqlite/backup.ts'
import type { LogSettings } from '../state.ts'

/** Copies the embedded log into a folder, and gives what was copied in sentences. */
export async function backUpLog(
  { data_dir, eventstore_url }: LogSettings,
  folder: string,
  historyOnly: boolean,
): Promise<readonly string[]> {
  if (eventstore_url)
    throw new Error(
      'The event log is on a server (EVENTSTORE_URL): back it up in the way of that server, or write the events out with "log export".',
    )
  return (await backUpSqliteLog(data_dir, folder, { historyOnly })).map(describe)
}

function describe({ file, events, position }: FileBackup): string {
  return file === 'events.db'
    ? `${file}: ${events} events, the newest at position ${position}.`
    : `${file}: ${events} stored responses.`
}
