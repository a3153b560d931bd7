import { readFileSync, readlinkSync } from 'node:fs'
import os from 'node:os'

/**
 * Returns the id of the calling thread, for `readThreadCpuMs`. Undefined on systems without `/proc`, where
 * limits of CPU time are measured in wall-clock time.
 */
export function currentThreadId(): number | undefined {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return undefined
  }
}

/** Returns the CPU time of a thread of this process in milliseconds; wall-clock time without `/proc`. */
export function readThreadCpuMs(threadId: number | undefined): number {
  if (threadId === undefined) return performance.now()
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${threadId}/schedstat`, 'latin1').split(' ')
    return Number(nanoseconds) / 1e6
  } catch {
    return performance.now()
  }
}

/**
 * Lets all other threads run first. Linux has a priority per thread; elsewhere, and without an id, nothing
 * happens.
 */
export function lowerThreadPriority(
  threadId: number | undefined,
  priority: number = os.constants.priority.PRIORITY_LOW,
): void {
  if (threadId === undefined) return
  try {
    os.setPriority(threadId, priority)
  } catch {
    // The thread has exited.
  }
}
