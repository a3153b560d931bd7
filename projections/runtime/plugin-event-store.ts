import type { Logger } from 'pino'
import type { EventDeclaration, EventLog, PluginEvents, RecordedEvent } from '../../core/contract/index.ts'
import { createPluginCodec, type PluginCodec } from '../../core/events/plugin-events.ts'
import { errorSummary } from '../../core/util/error-message.ts'
import type { EventWriter } from './write.ts'

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

/** What a plugin's events lead to. */
interface PluginState {
  /**
   * Applies one event; false for one that is another plugin's, or that only another version of this one can read. Throws a sentence
   * when the plugin cannot apply it: there is no state any more then.
   */
  apply(record: RecordedEvent): boolean
  now(): unknown
  /** Of the newest event that was applied in a stream; -1 when there was none. */
  revisionOf(stream: string): number
}

/** The state before the first event. */
export function createPluginState(
  plugin: string,
  declared: EventDeclaration,
  codec: PluginCodec,
): PluginState {
  const revisions = new Map<string, number>()
  let state = declared.initial()

  function evolve(record: RecordedEvent): boolean {
    const event = codec.decode(record)
    if (event === undefined) return false
    state = declared.evolve(state, event)
    if (state === undefined) throw new Error('its evolve returned no state')
    revisions.set(record.stream, record.revision)
    return true
  }

  return {
    apply(record) {
      try {
        return evolve(record)
      } catch (cause) {
        throw new Error(
          `plugin "${plugin}" cannot apply the event "${record.type}" at position ${record.position} of the log: ` +
            `${errorSummary(cause)}. Install a version that can, or take it off the list.`,
          { cause },
        )
      }
    },
    now: () => state,
    revisionOf: (stream) => revisions.get(stream) ?? -1,
  }
}
