import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { syncFolder } from '../../core/util/sync-folder.ts'
import type { SavedProjection } from '../projection.ts'
import type { Subscription } from '../runtime/subscribe.ts'
import { listSnapshots, snapshotName, sweepSnapshots } from './folder.ts'
import { type Snapshot, snapshotLines, takeSnapshot } from './format.ts'

interface SnapshotOptions {
  readonly folder: string
  /** How many events may come before the next snapshot is taken. */
  readonly everyEvents: number
  readonly logger: Logger
}

/** Takes snapshots in the background. */
interface SnapshotScheduler {
  /** Takes the last one, unless nothing has happened since. Comes after the end of following. */
  close(): Promise<void>
}

/** Takes a snapshot whenever so many events have come since the last, and at the end. Processes on one folder share theirs. */
export function scheduleSnapshots(
  live: Subscription,
  projections: readonly SavedProjection[],
  { folder, everyEvents, logger }: SnapshotOptions,
): SnapshotScheduler {
  let covered = 0
  let running: Promise<void> | undefined

  /** Unless there is one by another process that is less than so many positions older than the state. */
  async function take(enough: number): Promise<void> {
    const others = await listSnapshots(folder)
    const newest = live.newest()
    covered = live.received()
    if (newest === undefined) return
    if (others.some(({ isCurrent, position }) => isCurrent && isNear(position, newest.position, enough)))
      return
    const started = performance.now()
    const snapshot = await writeSnapshot(folder, takeSnapshot(newest, projections))
    await sweepSnapshots(folder)
    logger.info({ snapshot, duration_ms: Math.round(performance.now() - started) }, 'a snapshot is taken')
  }

  function run(enough: number): Promise<void> {
    return take(enough).catch((err) =>
      logger.warn({ err }, 'no snapshot could be taken; a start will read more of the log'),
    )
  }

  function look(): void {
    if (running !== undefined || live.received() - covered < everyEvents) return
    running = run(everyEvents).finally(() => {
      running = undefined
    })
  }

  look()
  live.onApplied(look)
  return {
    async close() {
      await running
      if (live.received() > covered) await run(0)
    },
  }
}

/** A snapshot ahead of the state can be another log's; then it is no substitute. */
function isNear(position: number, current: number, enough: number): boolean {
  return position <= current && position >= current - enough
}

const BATCH_BYTES = 256 * 1024

/** How long the event loop is held at a time, in milliseconds. */
const SLICE_MS = 2

/** Writes the snapshot so that it is in the folder whole or not at all, whatever happens meanwhile. Gives its path. */
export async function writeSnapshot(folder: string, snapshot: Snapshot): Promise<string> {
  await mkdir(folder, { recursive: true })
  const path = join(folder, snapshotName(snapshot.header.position, snapshot.header.shape))
  const unfinished = `${path}.${randomUUID()}.tmp`
  try {
    await writeWhole(unfinished, (file) => writeLines(file, snapshot))
    await rename(unfinished, path)
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
  await syncFolder(folder)
  return path
}

async function writeWhole(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await write(file)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function writeLines(file: FileHandle, snapshot: Snapshot): Promise<void> {
  const hash = createHash('sha256')
  const slice = createCooperativeYield(SLICE_MS)
  const batch = Buffer.allocUnsafeSlow(BATCH_BYTES)
  let used = 0

  async function write(bytes: Buffer): Promise<void> {
    hash.update(bytes)
    await file.writeFile(bytes)
  }
  async function flush(): Promise<void> {
    await write(batch.subarray(0, used))
    used = 0
  }
  async function add(line: string | Buffer): Promise<void> {
    const bytes = Buffer.byteLength(line) + 1
    if (used + bytes > BATCH_BYTES) await flush()
    if (bytes > BATCH_BYTES) return write(Buffer.from(`${line}\n`))
    used += typeof line === 'string' ? batch.write(line, used) : line.copy(batch, used)
    used += batch.write('\n', used)
  }

  await add(JSON.stringify(snapshot.header))
  for (const line of snapshotLines(snapshot)) {
    await add(line)
    if (slice.isDue()) await slice.yieldNow()
  }
  await flush()
  await file.writeFile(`${hash.digest('hex')}\n`)
}
