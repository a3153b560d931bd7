import type { JsonObject } from './json.ts'

/**
 * The canonical request: OpenAI's chat-completions body. Every dialect reads into it and every provider writes from it.
 * Fields that are not named here are kept, so a provider of the same format receives them untouched.
 */
export interface ChatRequest extends JsonObject {
  readonly model?: string
  readonly messages: readonly Message[]
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean } & JsonObject
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
  readonly stop?: string | readonly string[] | null
  readonly presence_penalty?: number | null
  readonly frequency_penalty?: number | null
  readonly user?: string
  readonly metadata?: JsonObject | null
  readonly tools?: readonly Tool[]
  readonly tool_choice?: string | JsonObject
  readonly response_format?: { readonly type: string } & JsonObject
  readonly logit_bias?: JsonObject | null
  readonly seed?: number | null
  readonly parallel_tool_calls?: boolean | null
  readonly reasoning_effort?: string | null
}

export interface Message extends JsonObject {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function'
  readonly content?: string | readonly ContentPart[] | null
  readonly tool_calls?: readonly ToolCall[]
  readonly tool_call_id?: string
  /** Thoughts of an earlier answer, given back by the client. */
  readonly reasoning_content?: string | null
}

/** A part of a message: `{type:"text", text}`, or an image, audio or file part. */
export interface ContentPart extends JsonObject {
  readonly type: string
  readonly text?: string
}

export interface ToolCall extends JsonObject {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string } & JsonObject
  /** What the provider gave with the call and wants back (`ToolStart`). */
  readonly extra_content?: JsonObject
}

export interface Tool extends JsonObject {
  readonly type: string
  readonly function?: { readonly name: string; readonly parameters?: JsonObject } & JsonObject
}

/** Token counts. `input` includes cached and cache-write tokens, `output` includes reasoning tokens. */
export interface Usage {
  readonly input: number
  readonly output: number
  readonly cached?: number
  readonly cacheWrite?: number
  readonly reasoning?: number
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/** What a provider can say. A whole reply is the list of its parts; `index` counts tool calls from 0 without gaps. */
export type ReplyPart =
  | { readonly type: 'start'; readonly id: string; readonly model: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'refusal'; readonly text: string }
  | ToolStart
  | { readonly type: 'tool-json'; readonly index: number; readonly json: string }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'finish'; readonly reason: FinishReason }

/** A tool call begins. `extra_content` is what the provider wants back with the call, such as Gemini's thought signature. */
export interface ToolStart {
  readonly type: 'tool-start'
  readonly index: number
  readonly id: string
  readonly name: string
  readonly extra_content?: JsonObject
}

/**
 * One record from a provider: its parts, and, where the provider speaks the canonical format, the record itself,
 * so that a client of the same format gets every field the provider sent.
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
 * and throws a `GatewayError` when the provider fails half-way.
 */
export type Reply =
  | { readonly type: 'whole'; readonly event: ReplyEvent }
  | { readonly type: 'stream'; readonly batches: AsyncIterable<readonly ReplyEvent[]> }
