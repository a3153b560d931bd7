import type { Logger } from 'pino'
import type { Subscription } from '../live.ts'
import type { SavedProjection } from '../projection.ts'
import { listSnapshots, sweepSnapshots } from './folder.ts'
import { takeSnapshot } from './format.ts'
import { writeSnapshot } from './write.ts'

export interface SnapshotOptions {
  readonly folder: string
  /** How many events may come before the next snapshot is taken. */
  readonly everyEvents: number
  readonly logger: Logger
}

/** Takes snapshots in the background. */
export interface SnapshotKeeper {
  /** Takes the last one, unless nothing has happened since. Comes after the end of following. */
  close(): Promise<void>
}

/** Takes a snapshot whenever so many events have come since the last, and at the end. Processes on one folder share theirs. */
export function keepSnapshots(
  live: Subscription,
  projections: readonly SavedProjection[],
  { folder, everyEvents, logger }: SnapshotOptions,
): SnapshotKeeper {
  let covered = 0
  let running: Promise<void> | undefined

  /** Unless there is one by another process that is less than so many positions older than the state. */
  async function take(enough: number): Promise<void> {
    const others = await listSnapshots(folder)
    const newest = live.newest()
    covered = live.received()
    if (newest === undefined) return
    if (others.some(({ isOurs, position }) => isOurs && isNear(position, newest.position, enough))) return
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
