import type { JsonObject } from './json.ts'

/** Token counts. `input` includes cached and cache-write tokens, `output` includes reasoning tokens. */
export interface Usage {
  readonly input: number
  readonly output: number
  readonly cached?: number
  readonly cacheWrite?: number
  readonly reasoning?: number
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/** What a vendor can say. A whole reply is the list of its parts; `index` counts tool calls from 0 without gaps. */
export type ReplyPart =
  | { readonly type: 'start'; readonly id: string; readonly model: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'refusal'; readonly text: string }
  | ToolStart
  | { readonly type: 'tool-json'; readonly index: number; readonly json: string }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'finish'; readonly reason: FinishReason }

/** A tool call begins. `extra_content` is what the vendor wants back with the call, such as Gemini's thought signature. */
export interface ToolStart {
  readonly type: 'tool-start'
  readonly index: number
  readonly id: string
  readonly name: string
  readonly extra_content?: JsonObject
}

/**
 * One record from a vendor: its parts, and, where the vendor speaks the canonical format, the record itself,
 * so that a client of the same format gets every field the vendor sent.
 */
export interface ReplyEvent {
  readonly parts: readonly ReplyPart[]
  readonly native?: JsonObject
  /** What `native` was parsed from. */
  readonly source?: string
  /** What `source` has in common with other records of the stream. */
  readonly pattern?: RecordPattern | undefined
}

/**
 * What records of a stream have in common: most of them say the same but for a few characters of text. A record that repeats another
 * but for such strings need not be parsed to be known.
 */
export interface RecordPattern {
  /** What every record begins with, up to the first string that differs, and ends with, from the last one on. */
  readonly before: string
  readonly after: string
  /** The value of the first string, of a record that repeats the pattern in all else; undefined of any other. */
  read(record: string): string | undefined
}

/**
 * The answer of a provider. A stream gives the events that arrived together as one batch, is read at the client's pace,
 * and throws a `GatewayError` when the vendor fails half-way.
 */
export type Reply =
  | { readonly type: 'whole'; readonly event: ReplyEvent }
  | { readonly type: 'stream'; readonly batches: AsyncIterable<readonly ReplyEvent[]> }
