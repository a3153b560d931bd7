import type { Worker } from 'node:worker_threads'

/** Threads that were terminated and have not exited, because they run native code. */
const terminated = new Set<Worker>()

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
  if (terminated.size === 0) return
  process.removeAllListeners('SIGTERM')
  process.kill(process.pid, 'SIGTERM')
}
