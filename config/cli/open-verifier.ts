import { readFile } from 'node:fs/promises'
import type { EventLog, RecordedEvent } from '../../core/contract/index.ts'
import { CHECKPOINTS_STREAM } from '../../core/event-log/streams.ts'
import { parseCheckpoint, type SignedCheckpoint } from '../../core/event-log/transparency/checkpoint.ts'
import { TrustedKeys } from '../../core/event-log/transparency/keys.ts'
import { RecordedLeaves } from '../../core/event-log/transparency/recorded-leaves.ts'
import { createTreeVerifier, type TreeVerifier } from '../../core/event-log/transparency/verify-tree.ts'
import { readLogId } from '../../core/events/log-identity.ts'
import { keysFolder, treeFolder } from '../../projections/transparency/sign-checkpoints.ts'

/** Prepares the check of a log against its checkpoints and, if there is one, against a saved one. */
export async function openTreeVerifier(
  log: EventLog,
  dataDir: string,
  saved: SignedCheckpoint | undefined,
): Promise<TreeVerifier> {
  const keys = await TrustedKeys.read(keysFolder(dataDir))
  const logId = await readLogId(log)
  const checkpoints: RecordedEvent[] = []
  for await (const record of log.read(CHECKPOINTS_STREAM)) checkpoints.push(record)
  const recorded = logId === undefined ? undefined : RecordedLeaves.open(treeFolder(dataDir, logId))
  return createTreeVerifier({ checkpoints, logId, accepts: (each) => keys.accepts(each), saved, recorded })
}

/** Reads a checkpoint that was saved from the admin endpoint. */
export async function readSavedCheckpoint(file: string | undefined): Promise<SignedCheckpoint | undefined> {
  if (file === undefined) return undefined
  const checkpoint = parseCheckpoint(await readFile(file, 'utf8'))
  if (checkpoint !== undefined) return checkpoint
  throw new Error(`${file} is not a checkpoint as GET /admin/audit/checkpoint returns it.`)
}
