import type { EventDeclaration, EventLog, Plugin, RecordedEvent } from '../../core/contract/index.ts'
import { readToEnd } from '../../core/event-log/read-to-end.ts'
import { PLUGIN_STREAM_PREFIX } from '../../core/events/plugin-events.ts'
import { errorSummary } from '../../core/util/error-message.ts'
import {
  createPluginEventStore,
  type PluginEventStore,
  type PluginEventStoreServices,
} from './plugin-event-store.ts'
import type { Subscription } from './subscribe.ts'

interface PluginEventStoresServices extends PluginEventStoreServices {
  readonly log: Pick<EventLog, 'read' | 'subscribe'>
  readonly subscription: Subscription
  /** Runs it, and again while the log is away. */
  retry(run: () => Promise<void>): Promise<void>
}

/**
 * The ledgers of all plugins that declare events, by plugin, once they have caught up with the log. They are made from the log's
 * beginning at every start, apart from snapshots: a plugin that was just installed, or folds in another way than before, misses nothing.
 */
export async function openPluginEventStores(
  plugins: readonly Plugin[],
  services: PluginEventStoresServices,
): Promise<ReadonlyMap<string, PluginEventStore>> {
  const { log, subscription: live, retry } = services
  const ledgers = new Map<string, PluginEventStore>()
  for (const { name, events } of plugins)
    if (events !== undefined) ledgers.set(name, openLedger(name, events, services))
  if (ledgers.size === 0) return ledgers

  const apply = (record: RecordedEvent) => [...ledgers.values()].some((ledger) => ledger.apply(record))
  // What comes while the past is read waits for its turn.
  const waiting: RecordedEvent[] = []
  let take = (record: RecordedEvent) => waiting.push(record) > 0
  const present = live.position()
  live.onPluginEvent((record) => take(record))

  let past = 0
  await retry(async () => {
    for await (const record of readToEnd(log, past, PLUGIN_STREAM_PREFIX)) {
      if (record.position > present) return
      apply(record)
      past = record.position
    }
  })
  for (const record of waiting) apply(record)
  take = apply
  for (const ledger of ledgers.values()) ledger.state()
  return ledgers
}

function openLedger(
  plugin: string,
  declared: EventDeclaration,
  services: PluginEventStoreServices,
): PluginEventStore {
  try {
    return createPluginEventStore(plugin, declared, services)
  } catch (cause) {
    throw new Error(`the events of plugin "${plugin}" cannot be used: ${errorSummary(cause)}.`, { cause })
  }
}
