import { backUpSqliteLog, type FileBackup } from '../../core/event-log/sqlite/backup.ts'
import { copyPublicKeys } from '../../core/event-log/transparency/keys.ts'
import { keysFolder } from '../../projections/transparency/sign-checkpoints.ts'
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
  const files = await backUpSqliteLog(data_dir, folder, { historyOnly })
  // A restored log can be verified with them. The private key stays where it is.
  await copyPublicKeys(keysFolder(data_dir), keysFolder(folder))
  return files.map(describeFileBackup)
}

function describeFileBackup({ file, events, streams, position }: FileBackup): string {
  return file === 'events.db'
    ? `${file}: ${events} events, the newest at position ${position}.`
    : `${file}: ${streams} stored responses.`
}
