import type { Worker } from 'node:worker_threads'

/** Threads that were terminated and have not exited, because they run native code. */
const terminated = new Set<Worker>()

let hasStuckThread = false

/** Notes that a thread of Node's own pool is in a call that does not end. */
export function noteStuckThread(): void {
  hasStuckThread = true
}

/** Terminates a thread. Native code that it runs ends first. */
export function terminateThread(worker: Worker): void {
  terminated.add(worker)
  worker.once('exit', () => terminated.delete(worker))
  void worker.terminate()
}

/**
 * Call when a process is done. Node waits for all threads before it exits, minutes for one in which RE2 is
 * stuck, so such a process ends by SIGTERM, which supervisors take for a regular end. Otherwise does nothing.
 */
export function endIfThreadsAreStuck(): void {
  if (terminated.size === 0 && !hasStuckThread) return
  process.removeAllListeners('SIGTERM')
  process.kill(process.pid, 'SIGTERM')
}
