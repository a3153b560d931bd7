import { parseWorkerEnv } from '../cluster/worker-env.ts'
import type { Environment } from '../settings/environment.ts'
import { readSettings } from '../settings/settings.ts'

/**
 * Runs the gateway until it is told to stop: in this process, or in several that this one starts. Also what those run. Each loads only
 * what it needs: the primary is small.
 */
export async function runGateway(environment: Environment): Promise<void> {
  const assignment = parseWorkerEnv(environment)
  if (assignment) {
    const { runWorker } = await import('../cluster/run-worker.ts')
    return runWorker(environment, assignment)
  }
  const settings = readSettings(environment)
  if (settings.workers > 1) {
    const { runPrimary } = await import('../cluster/run-primary.ts')
    return runPrimary(environment, settings)
  }
  const { runAlone } = await import('./run-single-process.ts')
  return runAlone(settings)
}
