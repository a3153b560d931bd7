import type { Environment } from '../settings/environment.ts'

/** The parameters that the primary passes to a worker process. */
export interface WorkerEnv {
  /** From 1. A replacement gets the number of the worker that it replaces. */
  readonly number: number
  /** The actual ports, also where the settings ask for any free port. */
  readonly port: number
  readonly routePort: number
  /** The sandbox of the primary, used for all providers when no provider is configured. */
  readonly sandboxUrl: string | undefined
}

const VARIABLE = 'SIGNALBOX_WORKER'

export function toWorkerEnv(worker: WorkerEnv): Record<string, string> {
  return { [VARIABLE]: JSON.stringify(worker) }
}

/** Returns undefined in a process that no primary started. */
export function parseWorkerEnv(environment: Environment): WorkerEnv | undefined {
  const text = environment[VARIABLE]
  // Only `toWorkerEnv` sets the variable.
  return text === undefined ? undefined : (JSON.parse(text) as WorkerEnv)
}
