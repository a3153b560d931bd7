import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { createMemoryLog } from '../../core/event-log/memory.ts'
import { EXPIRING_STREAMS } from '../../core/events/streams.ts'
import type { Settings } from '../settings/settings.ts'
import { openLongRunningState, type State } from './state.ts'

/** Opens a state on an event log in memory. Nothing is read from the data folder, or written to it. */
export function openEmptyState(settings: Settings, logger: Logger): Promise<State> {
  const data_dir = join(tmpdir(), `signalbox-offline-${process.pid}`)
  return openLongRunningState({ ...settings, data_dir, audit: { require_reason: false } }, logger, {
    signal: new AbortController().signal,
    openLog: async () => createMemoryLog({ expiringStreams: EXPIRING_STREAMS }),
    decorateLog: (log) => log,
    takesSnapshots: false,
    broadcastPosition: undefined,
  })
}
