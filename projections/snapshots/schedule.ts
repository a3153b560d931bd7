import type { Logger } from 'pino'
import type { SavedState } from '../runtime/projection.ts'
import type { Subscription } from '../runtime/subscribe.ts'
import { listSnapshots, sweepSnapshots } from './folder.ts'
import { takeSnapshot } from './format.ts'
import { writeSnapshot } from './write.ts'

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
