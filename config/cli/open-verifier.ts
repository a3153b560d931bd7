import { readFile } from 'node:fs/promises'
import type { EventLog, RecordedEvent } from '../../core/contract/index.ts'
import { readFolderIdentity } from '../../core/event-log/sqlite/check-folder.ts'
import { CHECKPOINTS_STREAM } from '../../core/event-log/streams.ts'
import { parseCheckpoint, type SignedCheckpoint } from '../../core/event-log/transparency/checkpoint.ts'
import { TrustedKeys } from '../../core/event-log/transparency/keys.ts'
import { listRecordedLogs, RecordedLeaves } from '../../core/event-log/transparency/recorded-leaves.ts'
import { createTreeVerifier, type TreeVerifier } from '../../core/event-log/transparency/verify-tree.ts'
import { readLogIds } from '../../core/events/log-events.ts'
import { keysFolder, treeFolder, treesFolder } from '../../projections/transparency/compare-evidence.ts'

/** Prepares the check of a log against its checkpoints and, if there is one, against a saved one. */
export async function openTreeVerifier(
  log: EventLog,
  dataDir: string,
  saved: SignedCheckpoint | undefined,
): Promise<TreeVerifier> {
  const keys = await TrustedKeys.read(keysFolder(dataDir))
  const ids = await readLogIds(log)
  const logId = ids.at(-1)
  const checkpoints: RecordedEvent[] = []
  for await (const record of log.read(CHECKPOINTS_STREAM)) checkpoints.push(record)
  const recordedLogs = listRecordedLogs(treesFolder(dataDir))
  const folderLogId = readFolderIdentity(dataDir)?.id
  // A log that has lost its first event has no id.
  const recordedId = logId ?? recordedLogs.find((id) => id === folderLogId) ?? recordedLogs[0]
  const recorded = recordedId === undefined ? undefined : RecordedLeaves.open(treeFolder(dataDir, recordedId))
  const accepts = (each: SignedCheckpoint) => keys.accepts(each)
  const hasKeyOf = (origin: string) => keys.has(origin)
  const imported = recordedLogs
    .filter((id) => id !== logId && ids.includes(id))
    .map((id) => RecordedLeaves.open(treeFolder(dataDir, id)))
    .filter((leaves) => leaves !== undefined)
  return createTreeVerifier({
    ...{ checkpoints, logId, folderLogId, recordedLogs, accepts, hasKeyOf, saved, recorded, imported },
  })
}

/** Reads a checkpoint that was saved from the admin endpoint. */
export async function readSavedCheckpoint(file: string | undefined): Promise<SignedCheckpoint | undefined> {
  if (file === undefined) return undefined
  const checkpoint = parseCheckpoint(await readFile(file, 'utf8'))
  if (checkpoint !== undefined) return checkpoint
  throw new Error(`${file} is not a checkpoint as GET /admin/audit/checkpoint returns it.`)
}
