import { service } from '../contract/index.ts'
import type { RequestsInFlight } from '../http/client-connection.ts'

/** What a plugin may know of the process that it runs in. */
export interface ProcessServices {
  /** Of the program. */
  readonly version: string
  /** Aborts when the gateway begins to stop. */
  readonly stopping: AbortSignal
  readonly requests: RequestsInFlight
  /** Whether this process does what only one of a cluster may do. */
  readonly isPrimary: boolean
  /** Repeats a call while the event log is unavailable, until the start is cancelled. */
  retry(run: () => Promise<void>): Promise<void>
}

export const ProcessServices = service<ProcessServices>('process')
