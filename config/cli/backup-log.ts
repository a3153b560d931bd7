import { type BackupSource, backUpDatabases, type FileBackup } from '../../core/event-log/sqlite/backup.ts'
import { HISTORY_FILE } from '../../core/event-log/sqlite/check-folder.ts'
import { copyPublicKeys } from '../../core/event-log/transparency/keys.ts'
import { keysFolder } from '../../projections/transparency/compare-evidence.ts'
import { type LogSettings, requireLog } from '../gateway/state.ts'

const HISTORY: BackupSource = {
  file: HISTORY_FILE,
  countSql: 'SELECT count(*), ifnull(max(position), 0) FROM events',
}

/** The history comes last, so that it contains every user of the other files. */
const SOURCES: readonly BackupSource[] = [
  { file: 'ledger.db', countSql: 'SELECT (SELECT count(*) FROM requests), (SELECT count(*) FROM responses)' },
  HISTORY,
]

/**
 * Copies the files of the data folder that cannot be recreated into a folder. Returns one sentence per copied
 * file.
 */
export async function backUpLog(
  { data_dir, eventstore_url }: LogSettings,
  folder: string,
  historyOnly: boolean,
): Promise<readonly string[]> {
  if (eventstore_url)
    throw new Error(
      'The event log is on a server (EVENTSTORE_URL). Back up that server, or use "signalbox log export".',
    )
  requireLog({ data_dir, eventstore_url: null })
  const files = await backUpDatabases(data_dir, folder, historyOnly ? [HISTORY] : SOURCES)
  // A restored log can be verified with them. The private key stays where it is.
  await copyPublicKeys(keysFolder(data_dir), keysFolder(folder))
  return files.map(describeFileBackup)
}

function describeFileBackup({ file, counts: [count = 0, other] }: FileBackup): string {
  return file === HISTORY_FILE
    ? `${file}: ${count} events, the newest at position ${other}.`
    : `${file}: ${count} requests, ${other} stored responses.`
}
