import type { EventDeclaration, RecordedEvent } from '../core/contract/index.ts'
import type { PluginCodec } from '../core/events/plugin-codec.ts'
import { errorSummary } from '../core/reason.ts'

/** What a plugin's events lead to. */
export interface PluginState {
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
