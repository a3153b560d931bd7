import { parentPort } from 'node:worker_threads'
import { errorMessage } from '../util/error-message.ts'
import { currentThreadId, readThreadCpuMs } from './thread-cpu.ts'
import { type WorkerJobMessage, WorkerLimitError, type WorkerReply } from './worker-pool.ts'

/**
 * Serves the jobs of a `WorkerPool`, in its thread. `execute` throws a `WorkerLimitError` when it has used
 * its CPU time, in milliseconds.
 */
export function serveWorkerJobs<Request, Result>(
  execute: (request: Request, cpuLimitMs: number) => Result,
): void {
  const reply = (message: WorkerReply<Result>) => parentPort?.postMessage(message)
  const threadId = currentThreadId()
  parentPort?.on('message', ({ request, cpuLimitMs }: WorkerJobMessage<Request>) => {
    const startedAt = readThreadCpuMs(threadId)
    try {
      const result = execute(request, cpuLimitMs)
      reply({ type: 'result', result, cpuMs: readThreadCpuMs(threadId) - startedAt })
    } catch (error) {
      reply(
        error instanceof WorkerLimitError
          ? { type: 'limit' }
          : { type: 'error', message: errorMessage(error) },
      )
    }
  })
  reply({ type: 'ready', threadId })
}
