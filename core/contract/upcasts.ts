import type { NewEvent } from './event-log.ts'

/** Reads an event of one schema version as the version after it would have written it: type and data may both differ. */
export type Upcast = (event: NewEvent) => NewEvent

/** By the schema version that wrote the event, then by its type. What is not here has not changed from that version to the next. */
export type Upcasts = Readonly<Record<number, Readonly<Record<string, Upcast>>>>
