import { backUpSqliteLog, type FileBackup } from '../../core/event-log/sqlite/backup.ts'
import type { LogSettings } from '../gateway/state.ts'

/** Copies the embedded event log into a folder. Returns one sentence per copied file. */
export async function backUpLog(
  { data_dir, eventstore_url }: LogSettings,
  folder: string,
  historyOnly: boolean,
): Promise<readonly string[]> {
  if (eventstore_url)
    throw new Error(
      'The event log is on a server (EVENTSTORE_URL). Back up that server, or use "signalbox log export".',
    )
  return (await backUpSqliteLog(data_dir, folder, { historyOnly })).map(describeFileBackup)
}

function describeFileBackup({ file, events, streams, position }: FileBackup): string {
  return file === 'events.db'
    ? `${file}: ${events} events, the newest at position ${position}.`
    : `${file}: ${streams} stored responses.`
}
