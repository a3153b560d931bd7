import type { JsonObject } from './json.ts'

// How events of replies carry the records of the provider unparsed. Not part of the public contract: only the
// core, built-in plugins and built-in adapters use it.

/** Key of the native record of a reply event. */
export const NATIVE: unique symbol = Symbol('native')

/** Key of the text run of a reply event. */
export const TEXT_RUN: unique symbol = Symbol('text run')

/** Key of what an iterator of texts knows about the latest one: true if it is ASCII. */
export const IS_ASCII: unique symbol = Symbol('is ASCII')

/** A provider's record in the canonical format. */
export interface NativeRecord {
  readonly record: JsonObject
  /** The JSON text that `record` was parsed from. */
  readonly source?: string | undefined
  /** The template that `source` shares with other records of the stream. */
  readonly pattern?: RecordPattern | undefined
  /** How the whole replies look of which this is one. */
  readonly reply?: ReplyPattern | undefined
  /** Where the id of such a reply ends in `source`. It is the first field, and others follow it. */
  readonly idEnd?: number | undefined
}

/** What whole replies have in common that differ in their id, time, text and token counts only. */
export interface ReplyPattern {
  /** A record with other values in place of these. */
  readonly example: JsonObject
  /** The names of its fields. */
  readonly names: ReadonlySet<string>
  /** Whether clients can read them as they are, once that is known. */
  isRegular: boolean | undefined
}

/**
 * A template of stream records. Most records of a stream differ only in a few characters of text, so a record
 * that matches the template is read without parsing its JSON.
 */
export interface RecordPattern {
  /** The text of every matching record up to its first variable string. */
  readonly before: string
  /** The text between the variable strings, if there are two. */
  readonly between?: string | undefined
  /** The text of every matching record after its last variable string. */
  readonly after: string
  /** The record that the template was made from. */
  readonly example: JsonObject
  /** Returns the value of the record's first variable string, or undefined if the record does not match. */
  read(record: string): string | undefined
}

/**
 * Consecutive text records of a stream with the same pattern, which arrived together and are not parsed. See
 * docs/decisions/replies.md, "Text records that arrive together are one event".
 */
export interface TextRun<Event extends { readonly parts: unknown }> {
  readonly pattern: RecordPattern
  /** The text that contains the records. */
  readonly source: string
  /** Where the variable strings of each record begin and end in `source`: 2 or 4 positions per record. */
  readonly bounds: readonly number[]
  /** True if the records and the pattern are ASCII; false is not certain. */
  readonly isAscii: boolean
  /** One part per record, except for records without text. */
  readonly parts: Event['parts']
  /** The UTF-8 bytes of the text that the model produced. */
  readonly textBytes: number
  /** Returns one event per record. */
  split(): readonly Event[]
}

/** Returns the events of a batch with one event per record. */
export function splitRuns<Event extends { readonly parts: unknown; readonly [TEXT_RUN]?: TextRun<Event> }>(
  batch: readonly Event[],
): readonly Event[] {
  if (batch.every((event) => event[TEXT_RUN] === undefined)) return batch
  return batch.flatMap((event) => event[TEXT_RUN]?.split() ?? event)
}
