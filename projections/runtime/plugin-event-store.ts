import type { Logger } from 'pino'
import type { EventDeclaration, EventLog, PluginEvents, RecordedEvent } from '../../core/contract/index.ts'
import { createPluginCodec, type PluginCodec, pluginOfStream } from '../../core/events/plugin-events.ts'
import { errorSummary } from '../../core/util/error-message.ts'
import type { EventWriter } from './write.ts'

export interface PluginEventStoreServices {
  readonly log: Pick<EventLog, 'read'>
  readonly writer: EventWriter
  readonly logger: Logger
}

/** A plugin's events and the state that is folded from them. */
export interface PluginEventStore extends PluginEvents {
  /** Applies an event. Returns false if it belongs to another plugin or cannot be decoded by this version. */
  apply(record: RecordedEvent): boolean
}

/**
 * Creates the store before the first event; throws if the declaration is not valid. If the plugin fails to
 * apply an event, its state is lost: from then on, `state` and `append` throw that error. The rest of the
 * gateway is not affected. See docs/decisions/plugins.md, "A plugin that cannot apply an event loses its
 * state; the gateway continues".
 */
export function createPluginEventStore(
  plugin: string,
  declaration: EventDeclaration,
  { log, writer, logger }: PluginEventStoreServices,
): PluginEventStore {
  const codec = createPluginCodec(plugin, declaration)
  const state = createPluginState(plugin, declaration, codec)
  let applyError: unknown

  function currentState(): unknown {
    if (applyError !== undefined) throw applyError
    return state.current()
  }

  return {
    apply(record) {
      if (applyError !== undefined) return false
      try {
        return state.apply(record)
      } catch (error) {
        applyError = error
        logger.error({ err: error }, 'plugin state lost; requests that need it fail')
        return false
      }
    },
    state: currentState,
    async append(subject, events, author) {
      currentState()
      const stream = codec.streamOf(subject)
      const command =
        typeof events === 'function'
          ? {
              revision: () => state.revisionOf(stream),
              decide: () => events(currentState()).map(codec.encode),
            }
          : { revision: () => state.newestOf(stream), decide: () => events.map(codec.encode) }
      const appended = await writer.write({ stream, schema: codec.version, ...command }, author)
      currentState()
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

/** The state that is folded from a plugin's events. */
interface PluginState {
  /**
   * Applies an event. Returns false if it belongs to another plugin or cannot be decoded by this version.
   * Throws an error with a message for the operator if the plugin's `evolve` fails; the state must not be
   * used afterwards.
   */
  apply(record: RecordedEvent): boolean
  current(): unknown
  /** Revision of the newest applied event of a stream; -1 if there is none. */
  revisionOf(stream: string): number
  /** As `revisionOf`, of the newest event, applied or not. */
  newestOf(stream: string): number
}

/** Creates the state before the first event. */
export function createPluginState(
  plugin: string,
  declaration: EventDeclaration,
  codec: PluginCodec,
): PluginState {
  const revisions = new Map<string, number>()
  const newest = new Map<string, number>()
  let state = declaration.initial()

  function evolve(record: RecordedEvent): boolean {
    if (pluginOfStream(record.stream) === plugin) newest.set(record.stream, record.revision)
    const event = codec.decode(record)
    if (event === undefined) return false
    state = declaration.evolve(state, event)
    if (state === undefined) throw new Error('evolve returned undefined')
    revisions.set(record.stream, record.revision)
    return true
  }

  return {
    apply(record) {
      try {
        return evolve(record)
      } catch (cause) {
        throw new Error(
          `plugin "${plugin}" cannot apply event "${record.type}" at log position ${record.position}: ` +
            `${errorSummary(cause)}. Install a version that can, or remove the plugin from the list.`,
          { cause },
        )
      }
    },
    current: () => state,
    revisionOf: (stream) => revisions.get(stream) ?? -1,
    newestOf: (stream) => newest.get(stream) ?? -1,
  }
}
