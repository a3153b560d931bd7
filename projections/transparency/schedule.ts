import type { EventLog } from '../../core/contract/index.ts'
import { EventLogUnavailableError } from '../../core/contract/index.ts'
import { ReceivedLeaves } from '../../core/event-log/transparency/event-leaf.ts'
import { withTimeout } from '../../core/threads/timeout.ts'
import type { Subscription } from '../runtime/subscribe.ts'
import { EvidenceContradictedError } from './compare-evidence.ts'
import { CheckpointSigner, type SignerOptions } from './sign-checkpoints.ts'

interface ScheduleOptions extends SignerOptions {
  /** Events between two checkpoints. 1,000 by default. */
  readonly everyEvents?: number
  /** Time after which changes are covered by a checkpoint. An hour by default. */
  readonly everyMs?: number
  /** Time after which the hashes of received events are on disk. Half a second by default. */
  readonly recordMs?: number
  /** Time after which an attempt to record is repeated. Ten seconds by default. */
  readonly retryMs?: number
}

/** A process that stops does not wait longer for a log that does not respond. */
const CLOSE_TIMEOUT_MS = 3000

/** Signs checkpoints in the background. */
interface CheckpointScheduler {
  /** Signs a last checkpoint if there were changes. Call it after closing the subscription. */
  close(): Promise<void>
}

/**
 * Records the hashes of events soon after they are received, and signs a checkpoint after every `everyEvents`
 * events, after `everyMs` with changes, and on close.
 */
export function scheduleCheckpoints(
  subscription: Subscription,
  log: EventLog,
  options: ScheduleOptions,
): CheckpointScheduler {
  const { logger, everyEvents = 1000, everyMs = 3_600_000, recordMs = 500, retryMs = 10_000 } = options
  const received = new ReceivedLeaves(subscription.position())
  const signer = new CheckpointSigner(log, { ...options, received })
  /** Number of received events when the signer last ran. A previous process may have left events to it. */
  let covered = -1
  let running: Promise<void> | undefined
  let recording: Promise<void> | undefined
  let recordTimer: NodeJS.Timeout | undefined
  /** Of the last attempt: the next one to record waits for longer, after a contradiction for one to sign. */
  let failure: 'contradicted' | 'failed' | undefined
  let isClosed = false
  /** Whether events were received, or not recorded, since the last attempt to record. */
  let isDue = true

  subscription.onReceived((event) => {
    received.add(event)
    isDue = true
    recordSoon()
  })

  function recordSoon(): void {
    if (isClosed || !isDue || recording !== undefined || failure === 'contradicted') return
    recordTimer ??= setTimeout(record, failure ? retryMs : recordMs).unref()
  }

  function report(err: unknown): void {
    failure = err instanceof EvidenceContradictedError ? 'contradicted' : 'failed'
    isDue = true
    if (err instanceof EvidenceContradictedError)
      logger.fatal({ position: err.position, reason: err.reason }, 'event log contradicts its evidence')
    // Without the log there is nothing to sign; the next checkpoint covers the events.
    else if (EventLogUnavailableError.isInstance(err)) subscription.noteOutcome(err)
    else logger.error({ err }, 'checkpoint not signed; the event log cannot be proven from here on')
  }

  /** Attempts to sign or to record, once `other` has ended. */
  async function attempt(other: Promise<void> | undefined, work: () => Promise<void>): Promise<void> {
    await other
    try {
      await work()
      failure = undefined
    } catch (error) {
      report(error)
    }
  }

  function run(): Promise<void> {
    if (running !== undefined) return running
    covered = subscription.received()
    running = attempt(recording, () => signer.sign()).finally(() => {
      running = undefined
      runIfDue()
    })
    return running
  }

  function record(): void {
    recordTimer = undefined
    const work = () => {
      isDue = false
      return signer.record()
    }
    recording = attempt(running, work).finally(() => {
      recording = undefined
      recordSoon()
    })
  }

  function runIfDue(): void {
    if (subscription.received() - covered >= everyEvents && running === undefined) void run()
  }

  function runIfChanged(): void {
    if (subscription.received() > covered && subscription.state() === 'following') void run()
  }

  const timer = setInterval(runIfChanged, everyMs)
  timer.unref()
  runIfDue()
  // Compares what a previous process has recorded, also without changes.
  recordSoon()
  subscription.onApplied(runIfDue)

  async function finish(): Promise<void> {
    isClosed = true
    if (recordTimer !== undefined) clearTimeout(recordTimer)
    await recording
    await running
    const hasChanges = subscription.received() > Math.max(covered, 0)
    if (hasChanges && subscription.state() === 'following') await run()
    await signer.close()
  }

  return {
    async close() {
      clearInterval(timer)
      await withTimeout(finish(), CLOSE_TIMEOUT_MS, () => new Error('timeout')).catch(() =>
        logger.warn('last checkpoint not signed in time; a later one covers its events'),
      )
    },
  }
}
