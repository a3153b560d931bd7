import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type EventLog, isJsonObject, type Position } from '../../core/contract/index.ts'
import { originOf } from '../../core/event-log/transparency/checkpoint.ts'
import type { StoredCheckpoint } from '../../core/event-log/transparency/checkpoint-stream.ts'
import { TrustedKeys } from '../../core/event-log/transparency/keys.ts'
import { findTreeDifference } from '../../core/event-log/transparency/log-tree.ts'
import { listRecordedLogs } from '../../core/event-log/transparency/recorded-leaves.ts'
import { TreeFiles } from '../../core/event-log/transparency/tree-files.ts'
import { readLogIds } from '../../core/events/log-events.ts'
import { replaceFile } from '../../core/util/files.ts'
import { parseJson } from '../../core/util/json.ts'

/** Where the keys are in a data folder. */
export function keysFolder(dataDir: string): string {
  return join(dataDir, 'keys')
}

/** Where the trees of logs are in a data folder. */
export function treesFolder(dataDir: string): string {
  return join(dataDir, 'transparency')
}

/** Where the tree of a log is in a data folder. */
export function treeFolder(dataDir: string, logId: string): string {
  return join(treesFolder(dataDir), logId)
}

/** Why nothing is signed: the log is not what was recorded or signed. */
export interface Contradiction {
  /** A sentence. */
  readonly reason: string
  /** Of the first event that differs; null if it is not known. */
  readonly position: Position | null
}

/** The log contradicts its evidence. Nothing is signed before the log or the evidence was restored. */
export class EvidenceContradictedError extends Error implements Contradiction {
  readonly reason: string
  readonly position: Position | null

  constructor(reason: string, position: Position | null = null) {
    const advice = 'Run "signalbox log verify"; see docs/guides/evidence.md, "Contradictions".'
    super(`${reason} Nothing is signed. ${advice}`)
    this.name = 'EvidenceContradictedError'
    this.reason = reason
    this.position = position
  }
}

export interface EvidencePlace {
  /** The folder of the keys and the trees. */
  readonly dataDir: string
  readonly logId: string
}

/**
 * Compares the recorded leaves behind the newest trusted checkpoint with the log. Throws an
 * `EvidenceContradictedError` at the first difference, and if another log was recorded in the folder. See
 * docs/decisions/evidence.md, "Events are recorded within a second".
 */
export async function requireRecordedEvents(
  tree: TreeFiles,
  log: Pick<EventLog, 'read' | 'subscribe'>,
  trusted: StoredCheckpoint | undefined,
  { dataDir, logId }: EvidencePlace,
): Promise<void> {
  const ids = await readLogIds(log)
  const others = listRecordedLogs(treesFolder(dataDir)).filter((id) => id !== logId)
  const foreign = others.find((id) => !ids.includes(id))
  if (foreign !== undefined)
    throw new EvidenceContradictedError(
      `The event log has the id ${logId}, but the data folder has recorded events of the log ${foreign}.`,
    )
  // Once, before an event of this log is recorded.
  if (tree.size === 0) for (const id of others) await requireImportedEvents(treeFolder(dataDir, id), log)
  const difference = await findTreeDifference(tree, log, trusted?.size ?? 0)
  if (difference) throw new EvidenceContradictedError(difference.issue, difference.position)
}

/** A log that was imported begins with the events that were recorded of it. */
async function requireImportedEvents(folder: string, log: Pick<EventLog, 'subscribe'>): Promise<void> {
  const tree = await TreeFiles.open(folder)
  try {
    const difference = await findTreeDifference(tree, log, 0, { isImported: true })
    if (difference === undefined) return
    const reason = `The log was imported, but is not what was recorded of it before. ${difference.issue}`
    throw new EvidenceContradictedError(reason, difference.position)
  } finally {
    await tree.close()
  }
}

/**
 * Throws an `EvidenceContradictedError` if a key of the data folder has signed checkpoints of the log. For a
 * log without checkpoints of which nothing is recorded.
 */
export async function requireUnsigned(
  log: Pick<EventLog, 'read'>,
  { dataDir }: EvidencePlace,
): Promise<void> {
  const [ids, keys] = [await readLogIds(log), await TrustedKeys.read(keysFolder(dataDir))]
  if (ids.some((id) => keys.has(originOf(id)))) throw new EvidenceContradictedError(EVIDENCE_MISSING)
}

const EVIDENCE_MISSING =
  'Evidence is missing: a key has signed checkpoints of this log, but there is no checkpoint in the log, ' +
  'and no hashes of its events are recorded.'

const CONTRADICTION_FILE = 'contradiction.json'

/** Tells other processes of the node why nothing is signed; undefined once something can be. */
export async function noteContradiction(
  { dataDir, logId }: EvidencePlace,
  contradiction: Contradiction | undefined,
): Promise<void> {
  const file = join(treeFolder(dataDir, logId), CONTRADICTION_FILE)
  if (contradiction === undefined) return rm(file, { force: true })
  const { reason, position } = contradiction
  await replaceFile(file, (handle) => handle.writeFile(`${JSON.stringify({ reason, position })}\n`))
}

export async function readContradiction({
  dataDir,
  logId,
}: EvidencePlace): Promise<Contradiction | undefined> {
  const file = join(treeFolder(dataDir, logId), CONTRADICTION_FILE)
  const noted = parseJson(await readFile(file, 'utf8').catch(() => ''))
  if (!isJsonObject(noted) || typeof noted.reason !== 'string') return undefined
  return { reason: noted.reason, position: typeof noted.position === 'number' ? noted.position : null }
}
