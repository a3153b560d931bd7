import type { Worker } from 'node:worker_threads'
import { GatewayError } from '../../core/contract/index.ts'
import { createIdleThread } from '../../core/threads/thread.ts'
import { TurnQueue } from '../../core/threads/turn-queue.ts'
import { createSharedQuota } from '../../core/util/shared-quota.ts'
import type { HistoryCall, HistoryResult, Present } from './history-methods.ts'
import { type HistoryOutcome, type HistoryThreadMethods, resultOf } from './history-protocol.ts'

/** Reads the history of rules in a thread of its own, one call at a time. */
export interface HistoryThread {
  /**
   * Rejects with 429 if too many calls wait, in all or for the same history, with 503 if the thread runs out
   * of time or memory, and with the signal's reason if it aborts before the call's turn.
   */
  read(call: HistoryCall, present: Present, signal: AbortSignal): Promise<HistoryResult>
  close(): Promise<void>
}

/** Calls that wait. Each takes some 20 ms for a history of 12,000 events. */
const MAX_WAITING = 64

/** Calls that run or wait for the history of one user or policy, so that others are answered, too. */
const MAX_PER_OWNER = 16

/** Enough for a million events. */
const TIMEOUT_MS = 30_000

/** Pages are read one after the other, by people. */
const IDLE_MS = 60_000

export function createHistoryThread(startWorker: () => Worker, timeoutMs = TIMEOUT_MS): HistoryThread {
  const queue = new TurnQueue(1, MAX_WAITING)
  const calls = createSharedQuota<string>({ perOwner: MAX_PER_OWNER, total: MAX_WAITING + 1 })
  const thread = createIdleThread<HistoryThreadMethods, Record<never, never>>({
    startWorker,
    handlers: {},
    idleMs: IDLE_MS,
  })

  async function request(call: HistoryCall, present: Present): Promise<HistoryOutcome> {
    try {
      const outcome = await thread.use((peer) => peer.request('read', { ...call, present }, timeoutMs))
      // The next call opens the event log again.
      if ('unavailable' in outcome) await thread.stop()
      return outcome
    } catch (cause) {
      // A thread that failed or did not finish is not used again.
      await thread.stop()
      throw createUnavailableError(cause)
    }
  }

  return {
    async read(call, present, signal) {
      const owner = JSON.stringify(call.query.owner)
      if (calls.take(owner, 1) !== undefined) throw createBusyError()
      try {
        const outcome = await queue.run(() => request(call, present), signal)
        if (outcome === undefined) throw createBusyError()
        return resultOf(outcome)
      } finally {
        calls.release(owner, 1)
      }
    },
    close: thread.close,
  }
}

function createBusyError(): GatewayError {
  const message = 'Too many reads of past rules and changes are waiting. Try again later.'
  return new GatewayError('audit_busy', message, { retryAfter: 2 })
}

function createUnavailableError(cause: unknown): GatewayError {
  const message =
    'The history could not be read within its limits of time and memory. Try again later; if this happens ' +
    'again, it is too long for this node.'
  return new GatewayError('history_unavailable', message, { cause })
}
