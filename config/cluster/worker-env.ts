import type { Environment } from '../settings/environment.ts'

/** What the primary tells a worker when it starts it. */
export interface WorkerEnv {
  /** From 1; whoever replaces a worker gets its number. */
  readonly number: number
  /** The real ports, where the settings ask for any that is free. */
  readonly port: number
  readonly routePort: number
  /** The sandbox of the primary, which stands in for all providers when no key is configured. */
  readonly sandboxUrl: string | undefined
}

const VARIABLE = 'SIGNALBOX_WORKER'

export function toWorkerEnv(assignment: WorkerEnv): Record<string, string> {
  return { [VARIABLE]: JSON.stringify(assignment) }
}

/** Undefined in a process that no primary started. */
export function parseWorkerEnv(environment: Environment): WorkerEnv | undefined {
  const text = environment[VARIABLE]
  // Only `writeAssignment` sets it.
  return text === undefined ? undefined : (JSON.parse(text) as WorkerEnv)
}
