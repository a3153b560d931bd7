import type { EventDeclaration, EventLog, Plugin, RecordedEvent } from '../../core/contract/index.ts'
import { readToEnd } from '../../core/event-log/streams.ts'
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
  /** Runs a function, and again for as long as the event log is unavailable. */
  retry(run: () => Promise<void>): Promise<void>
}

/**
 * Opens an event store for every plugin that declares events, and resolves once the stores have caught up
 * with the log. They are rebuilt from the whole log at every start, not from snapshots, so that a plugin that
 * was just installed or that folds its events differently receives all of them. See
 * docs/decisions/plugins.md, "Plugin state is rebuilt from the log at every start".
 */
export async function openPluginEventStores(
  plugins: readonly Plugin[],
  services: PluginEventStoresServices,
): Promise<ReadonlyMap<string, PluginEventStore>> {
  const { log, subscription, retry } = services
  const stores = new Map<string, PluginEventStore>()
  for (const { name, events } of plugins)
    if (events !== undefined) stores.set(name, createStore(name, events, services))
  if (stores.size === 0) return stores

  const apply = (record: RecordedEvent) => [...stores.values()].some((store) => store.apply(record))
  // Events that arrive while earlier ones are read are buffered, to be applied in order.
  const buffered: RecordedEvent[] = []
  let receive = (record: RecordedEvent) => buffered.push(record) > 0
  const startPosition = subscription.position()
  subscription.onPluginEvent((record) => receive(record))

  let appliedPosition = 0
  await retry(async () => {
    for await (const record of readToEnd(log, appliedPosition, PLUGIN_STREAM_PREFIX)) {
      if (record.position > startPosition) return
      apply(record)
      appliedPosition = record.position
    }
  })
  for (const record of buffered) apply(record)
  receive = apply
  // Throws if a plugin failed to apply an event.
  for (const store of stores.values()) store.state()
  return stores
}

function createStore(
  plugin: string,
  declaration: EventDeclaration,
  services: PluginEventStoreServices,
): PluginEventStore {
  try {
    return createPluginEventStore(plugin, declaration, services)
  } catch (cause) {
    throw new Error(`the events of plugin "${plugin}" are not valid: ${errorSummary(cause)}.`, { cause })
  }
}
