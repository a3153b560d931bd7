import type { EventLog } from '../../core/contract/index.ts'
import { createMemoryLog, createMemoryStorage, type MemoryStorage } from '../../core/event-log/memory.ts'
import { UNFOLLOWED_STREAMS } from '../../projections/events/streams.ts'

/** By data folder, so that a gateway that starts again in the same folder finds its events. */
const storages = new Map<string, MemoryStorage>()

/** Opens the event log in memory that belongs to a data folder. */
export function openMemoryLog(folder: string): EventLog {
  const storage = storages.get(folder) ?? createMemoryStorage()
  storages.set(folder, storage)
  return createMemoryLog({
    storage,
    unfollowedStreams: UNFOLLOWED_STREAMS,
  })
}
