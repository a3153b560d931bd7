import { parseWorkerEnv } from '../cluster/worker-env.ts'
import type { Environment } from '../settings/environment.ts'
import { readSettings } from '../settings/settings.ts'

/**
 * Runs the gateway until a signal stops it: in this process, or as the primary of several workers. Worker
 * processes run this function, too. Each kind imports only what it needs, which keeps the primary small.
 */
export async function runGateway(environment: Environment): Promise<void> {
  const workerEnv = parseWorkerEnv(environment)
  if (workerEnv) {
    const { runWorker } = await import('../cluster/run-worker.ts')
    return runWorker(environment, workerEnv)
  }
  const settings = readSettings(environment)
  if (settings.workers > 1) {
    const { runPrimary } = await import('../cluster/run-primary.ts')
    return runPrimary(environment, settings)
  }
  const { runSingleProcess } = await import('./run-single-process.ts')
  return runSingleProcess(settings)
}
