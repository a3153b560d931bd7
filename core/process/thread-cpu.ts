import { readFileSync, readlinkSync } from 'node:fs'

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

/** Returns the CPU time that a thread of this process has used, in milliseconds; wall-clock time without `/proc`. */
export function readThreadCpuMs(threadId: number | undefined): number {
  if (threadId === undefined) return performance.now()
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${threadId}/schedstat`, 'latin1').split(' ')
    return Number(nanoseconds) / 1e6
  } catch {
    return performance.now()
  }
}
