import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { createMemoryLog } from '../../core/event-log/memory.ts'
import { UNFOLLOWED_STREAMS } from '../../projections/events/streams.ts'
import type { Settings } from '../settings/settings.ts'
import { type OpenState, openLongRunningState } from './state.ts'

/** What splits draw depends on the log; without one, they draw the same in each run. */
const OFFLINE_LOG_ID = 'offline'

/**
 * Opens a state on an event log in memory. Nothing is read from the data folder, or written to it. `logId`:
 * that of the log for which decisions are made again.
 */
export async function openEmptyState(
  settings: Settings,
  logger: Logger,
  logId: string = OFFLINE_LOG_ID,
): Promise<OpenState> {
  const data_dir = join(tmpdir(), `signalbox-offline-${process.pid}`)
  const offline = { ...settings, data_dir, audit: { require_reason: false } }
  const state = await openLongRunningState(offline, logger, {
    signal: new AbortController().signal,
    openLog: async () => createMemoryLog({ unfollowedStreams: UNFOLLOWED_STREAMS }),
    decorateLog: (log) => log,
    takesSnapshots: false,
    broadcastPosition: undefined,
  })
  return { ...state, logId }
}
