import type { Logger } from 'pino'
import { EventLogUnavailableError, StreamDamagedError } from '../../core/contract/index.ts'

/** Logs failures of the event log once per outage and kind, not once per refused request. */
interface OutageLog {
  /** Ignores errors that do not concern the log. */
  note(error: unknown, message: string): void
  /** The log works again. */
  end(): void
  /** Whether the log has rejected the credentials, or a permission, since it last worked. */
  isDenied(): boolean
}

export function createOutageLog(logger: Logger): OutageLog {
  /** Kinds that have been logged since the log last worked. */
  const kinds = new Set<string>()
  /** Streams that have been logged. They are damaged whether the log works or not. */
  const streams = new Set<string>()
  return {
    note(error, message) {
      if (StreamDamagedError.isInstance(error)) {
        if (!streams.has(error.stream)) logger.error({ err: error, stream: error.stream }, message)
        streams.add(error.stream)
        return
      }
      if (!EventLogUnavailableError.isInstance(error)) return
      const kind = kindOf(error)
      if (kinds.has(kind)) return
      kinds.add(kind)
      logger.warn({ err: error, kind }, message)
    },
    end: () => kinds.clear(),
    isDenied: () => kinds.has('denied'),
  }
}

function kindOf(error: EventLogUnavailableError): string {
  if (error.accessDenied) return 'denied'
  if (error.diskFull) return 'disk_full'
  return error.outcomeUnknown ? 'outcome_unknown' : 'unavailable'
}
