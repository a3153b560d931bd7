import type { Appended, NewEvent, Position } from './event-log.ts'
import type { JsonObject } from './json.ts'
import type { Upcasts } from './upcasts.ts'

/** Who asks for a change: a key id, `admin`, `cli` or `system`, and the request it came with. */
export interface Author {
  readonly actor: string
  readonly requestId?: string
}

/**
 * The types of events that a plugin writes, and the state that they lead to. In the log a type is `{plugin}:{type}` and stands in
 * the stream `plugin-{plugin}:{subject}`, so that no two plugins meet.
 */
export interface EventDeclaration<State = unknown, Event extends NewEvent = NewEvent> {
  /** By type, the JSON schema that `data` must fit when it is appended. */
  readonly types: Readonly<Record<Event['type'], JsonObject>>
  /** Version of these shapes, from 1 on; 1 when left out. Whoever changes a shape takes the next number and writes an upcast. */
  readonly version?: number
  /** How events of older versions read today; types stand here without the plugin's name. */
  readonly upcasts?: Upcasts
  /** The state before the first event. */
  initial(): State
  /** The state after the event, which may be the same object, changed. The event and the state before are all that it may depend on. */
  evolve(state: State, event: PluginEvent<Event>): State
}

/** What happened, as the plugin's version today reads it; `type` is without the plugin's name. */
export type PluginEvent<Event extends NewEvent = NewEvent> = Event & {
  /** What it is about, as it was appended. */
  readonly subject: string
  /** Counts the subject's events from 0. */
  readonly revision: number
  readonly position: Position
  /** ISO 8601 UTC with six decimals. */
  readonly time: string
} & Author

/** A plugin's own events. */
export interface PluginEvents<State = unknown, Event extends NewEvent = NewEvent> {
  /** The state that all events lead to, as far as this node has seen the log; at `setup` that is all there were. */
  state(): State
  /**
   * Appends events about a subject, such as `user-7`, and resolves when they are on disk and `state()` shows them. A function
   * decides on the state and is asked again when somebody else wrote about the same subject meanwhile; no events: nothing to do.
   * Rejects when an event does not fit its schema, and with `LogUnavailable` while the log is away.
   */
  append(
    subject: string,
    events: readonly Event[] | ((state: State) => readonly Event[]),
    author: Author,
  ): Promise<Appended | undefined>
  /** The subject's events, oldest first. */
  read(subject: string): AsyncIterable<PluginEvent<Event>>
}
