import { EventLogReplacedError } from '../../core/contract/index.ts'

/**
 * The gateway ended because its event log was replaced (docs/guides/backup.md, "Restoring EventStoreDB"). A
 * supervisor should start it again.
 */
export const EXIT_EVENT_LOG_REPLACED = 78

/** The exit code of a process that ends with this error. */
export function exitCodeOf(error: unknown): typeof EXIT_EVENT_LOG_REPLACED | 1 {
  return EventLogReplacedError.isInstance(error) ? EXIT_EVENT_LOG_REPLACED : 1
}
