import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { replaceFile } from '../../core/util/files.ts'
import type { SavedState } from '../runtime/projection.ts'
import type { Subscription } from '../runtime/subscribe.ts'
import {
  listSnapshots,
  type Snapshot,
  snapshotLines,
  snapshotName,
  sweepSnapshots,
  takeSnapshot,
} from './files.ts'

const BATCH_BYTES = 256 * 1024

/** How long writing may block the event loop at a time, in milliseconds. */
const SLICE_MS = 2

/**
 * Writes a snapshot atomically: under its name, the file is either complete or absent. Resolves with its
 * path. See docs/decisions/event-log.md, "A snapshot is consistent although writing it takes seconds".
 */
export async function writeSnapshot(folder: string, snapshot: Snapshot): Promise<string> {
  const path = join(folder, snapshotName(snapshot.header.position, snapshot.header.shape))
  await replaceFile(path, (file) => writeLines(file, snapshot))
  return path
}

async function writeLines(file: FileHandle, snapshot: Snapshot): Promise<void> {
  const hash = createHash('sha256')
  const slice = createCooperativeYield(SLICE_MS)
  const batch = Buffer.allocUnsafeSlow(BATCH_BYTES)
  let used = 0

  async function writeBytes(bytes: Buffer): Promise<void> {
    hash.update(bytes)
    await file.writeFile(bytes)
  }
  async function flush(): Promise<void> {
    await writeBytes(batch.subarray(0, used))
    used = 0
  }
  async function writeLine(line: string | Buffer): Promise<void> {
    const bytes = Buffer.byteLength(line) + 1
    if (used + bytes > BATCH_BYTES) await flush()
    if (bytes > BATCH_BYTES) return writeBytes(Buffer.from(`${line}\n`))
    used += typeof line === 'string' ? batch.write(line, used) : line.copy(batch, used)
    used += batch.write('\n', used)
  }

  await writeLine(JSON.stringify(snapshot.header))
  for (const line of snapshotLines(snapshot)) {
    await writeLine(line)
    if (slice.isDue()) await slice.yieldNow()
  }
  await flush()
  await file.writeFile(`${hash.digest('hex')}\n`)
}

interface SnapshotOptions {
  readonly folder: string
  /** Number of events between two snapshots. */
  readonly everyEvents: number
  /** Id of the event log. */
  readonly logId: string
  readonly logger: Logger
}

/** Takes snapshots in the background. */
interface SnapshotScheduler {
  /**
   * Takes a last snapshot if events were received since the previous one. Call it after closing the
   * subscription.
   */
  close(): Promise<void>
}

/**
 * Takes a snapshot after every `everyEvents` events, and on close. Processes with the same folder share
 * snapshots.
 */
export function scheduleSnapshots(
  subscription: Subscription,
  projections: readonly SavedState[],
  { folder, everyEvents, logId, logger }: SnapshotOptions,
): SnapshotScheduler {
  /** Number of received events at the last snapshot. */
  let covered = 0
  let running: Promise<void> | undefined

  /**
   * Skips the snapshot if another process has taken one that is at most `maxDistance` positions older than
   * the state.
   */
  async function take(maxDistance: number): Promise<void> {
    const existing = await listSnapshots(folder)
    const newest = subscription.newest()
    covered = subscription.received()
    if (newest === undefined || subscription.state() === 'replaced') return
    const isCovered = existing.some(
      ({ isCurrent, position }) => isCurrent && isNear(position, newest.position, maxDistance),
    )
    if (isCovered) return
    const startedAt = performance.now()
    const snapshot = await writeSnapshot(folder, takeSnapshot(logId, newest, projections))
    await sweepSnapshots(folder)
    logger.info({ snapshot, duration_ms: Math.round(performance.now() - startedAt) }, 'snapshot written')
  }

  function run(maxDistance: number): Promise<void> {
    return take(maxDistance).catch((err) =>
      logger.warn({ err }, 'snapshot failed; the next start reads more of the event log'),
    )
  }

  function runIfDue(): void {
    if (running !== undefined || subscription.received() - covered < everyEvents) return
    running = run(everyEvents).finally(() => {
      running = undefined
    })
  }

  runIfDue()
  subscription.onApplied(runIfDue)
  return {
    async close() {
      await running
      if (subscription.received() > covered) await run(0)
    },
  }
}

/** False for a snapshot ahead of the state, because that may belong to another log. */
function isNear(position: number, current: number, maxDistance: number): boolean {
  return position <= current && position >= current - maxDistance
}
