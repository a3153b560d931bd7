import type { Logger } from 'pino'
import type { EventDeclaration, EventLog, PluginEvents, RecordedEvent } from '../core/contract/index.ts'
import { createPluginCodec } from '../core/events/plugin-codec.ts'
import { createPluginState } from './plugin-state.ts'
import type { EventWriter } from './writer.ts'

/** What a plugin's ledger works with. */
export interface PluginEventStoreServices {
  readonly log: Pick<EventLog, 'read'>
  readonly writer: EventWriter
  readonly logger: Logger
}

/** A plugin's events and the state that they lead to. */
export interface PluginEventStore extends PluginEvents {
  /** Applies one event. False for one that is another plugin's, or that only another version of this one can read. */
  apply(record: RecordedEvent): boolean
}

/**
 * The ledger before the first event; throws a sentence when the declaration cannot work. A plugin that cannot apply an event has no
 * state any more: whatever asks for that fails, and the rest of the gateway goes on.
 */
export function createPluginEventStore(
  plugin: string,
  declared: EventDeclaration,
  { log, writer, logger }: PluginEventStoreServices,
): PluginEventStore {
  const codec = createPluginCodec(plugin, declared)
  const state = createPluginState(plugin, declared, codec)
  let fault: unknown

  function current(): unknown {
    if (fault !== undefined) throw fault
    return state.now()
  }

  return {
    apply(record) {
      if (fault !== undefined) return false
      try {
        return state.apply(record)
      } catch (error) {
        fault = error
        logger.error({ err: error }, 'a plugin has lost its state: what needs it fails from now on')
        return false
      }
    },
    state: current,
    async append(subject, events, author) {
      current()
      const stream = codec.streamOf(subject)
      const command =
        typeof events === 'function'
          ? {
              revision: () => state.revisionOf(stream),
              decide: () => events(current()).map(codec.encode),
            }
          : { decide: () => events.map(codec.encode) }
      const appended = await writer.write({ stream, schema: codec.version, ...command }, author)
      current()
      return appended
    },
    async *read(subject) {
      for await (const record of log.read(codec.streamOf(subject))) {
        const event = codec.decode(record)
        if (event !== undefined) yield event
      }
    },
  }
}
