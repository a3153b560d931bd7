import type { JsonObject, MaybePromise } from './json.ts'
import { NATIVE, type NativeRecord, TEXT_RUN, type TextRun } from './native-records.ts'

/**
 * The canonical request: the body of OpenAI's chat completions API. Dialects parse client requests into it,
 * and provider adapters build their requests from it. Unknown fields are kept, so OpenAI-compatible providers
 * receive them unchanged. See docs/decisions/replies.md, "The canonical request is OpenAI's chat body
 * itself".
 */
export interface ChatRequest extends JsonObject {
  readonly model?: string
  readonly messages: readonly Message[]
  readonly stream?: boolean | null
  readonly stream_options?: ({ readonly include_usage?: boolean | null } & JsonObject) | null
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
  readonly stop?: string | readonly string[] | null
  readonly presence_penalty?: number | null
  readonly frequency_penalty?: number | null
  readonly user?: string
  readonly metadata?: JsonObject | null
  readonly tools?: readonly Tool[] | null
  readonly tool_choice?: string | JsonObject | null
  readonly response_format?: ({ readonly type: string } & JsonObject) | null
  readonly logit_bias?: JsonObject | null
  readonly seed?: number | null
  readonly parallel_tool_calls?: boolean | null
  readonly reasoning_effort?: string | null
  readonly extra_content?: ExtraContent | null
}

/**
 * Data in the format of one provider that the canonical form cannot express, by format. It is inspected like
 * everything else, and only providers of that format receive it. A content part or a tool of the type
 * `extra_content` is such data altogether. See docs/decisions/replies.md, "Content in Anthropic's format
 * travels as extra content".
 */
export interface ExtraContent extends JsonObject {
  readonly anthropic?: JsonObject
  /** Of a request: the options `include` and `summary` of reasoning in the Responses API. */
  readonly openai?: JsonObject
  /** Of a tool call: the signature of the reasoning that precedes it. */
  readonly google?: JsonObject
}

export interface Message extends JsonObject {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  readonly content?: string | readonly ContentPart[] | null
  readonly tool_calls?: readonly ToolCall[] | null
  readonly tool_call_id?: string
  /** Reasoning text of an earlier reply, sent back by the client. */
  readonly reasoning_content?: string | null
  /** What else belongs to that reasoning, such as signatures. It precedes the content and the calls. */
  readonly reasoning_data?: readonly ReasoningData[]
  readonly extra_content?: ExtraContent
}

/**
 * Opaque data of reasoning in the form of the format that issued it: a `thinking` block of `anthropic`, a
 * reasoning item of `openai` (Responses API), the fields beside `reasoning_content` of a `chat` message, the
 * signature of `google`. Only providers of that format receive it. See docs/decisions/replies.md,
 * "Reasoning goes back to the provider that issued it".
 */
export interface ReasoningData extends JsonObject {
  /** The provider that issued the data, and its model. Anthropic's can be read by the model only. */
  readonly provider?: string
  readonly model?: string
  readonly anthropic?: JsonObject
  readonly openai?: JsonObject
  readonly chat?: JsonObject
  readonly google?: JsonObject
}

/** A part of a message: `{type: "text", text}`, or an image, audio or file part. */
export interface ContentPart extends JsonObject {
  readonly type: string
  readonly text?: string
  readonly extra_content?: ExtraContent
}

export interface ToolCall extends JsonObject {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string } & JsonObject
  /** Provider data that must be sent back with the call; see `ToolStart`. */
  readonly extra_content?: ExtraContent
}

export interface Tool extends JsonObject {
  readonly type: string
  readonly function?: { readonly name: string; readonly parameters?: JsonObject | null } & JsonObject
  readonly extra_content?: ExtraContent
}

/**
 * A text as the token ids of a model, in a part `{type: "token_ids", token_ids}`. Not a JSON value: no body
 * can contain one, and code that inspects texts finds none in it. See docs/decisions/replies.md, "Token ids
 * are not JSON".
 */
export class TokenIds {
  readonly #ids: readonly number[]

  constructor(ids: readonly number[]) {
    this.#ids = ids
  }

  get length(): number {
    return this.#ids.length
  }

  toJSON(): readonly number[] {
    return this.#ids
  }
}

/** Token counts. `input` includes `cached` and `cacheWrite`; `output` includes `reasoning`. */
export interface Usage {
  readonly input: number
  readonly output: number
  readonly cached?: number
  readonly cacheWrite?: number
  readonly reasoning?: number
  /** Of `cacheWrite`, kept for an hour: twice the price of input. */
  readonly cacheWriteHour?: number
  /** The price, compared with the usual one, of speed or a region. */
  readonly priceFactor?: number
  /** The service tier that served the request, unless it is the usual one. */
  readonly tier?: string
  /** Calls of tools that the provider ran and has fees for, by name: `web_search`. */
  readonly toolCalls?: Readonly<Record<string, number>>
  /** Estimated by the gateway, because the reply ended before the provider reported its usage. */
  readonly isEstimated?: true
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/**
 * A part of a reply. A complete reply is the list of its parts. `index` numbers the tool calls of a reply
 * from 0, without gaps. `json` is the arguments of a function, or the input of a custom tool.
 */
export type ReplyPart =
  | { readonly type: 'start'; readonly id: string; readonly model: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'refusal'; readonly text: string }
  /** An image of the model: a data URL in Base64, or an https URL. */
  | { readonly type: 'image'; readonly url: string }
  /** Content that the gateway does not read, by its name in the provider's format. */
  | { readonly type: 'unread'; readonly name: string }
  | ToolStart
  | { readonly type: 'tool-json'; readonly index: number; readonly json: string }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'finish'; readonly reason: FinishReason }
  | ExtraPart
  | { readonly type: 'embedding'; readonly index: number; readonly vector: Vector }
  | { readonly type: 'moderation'; readonly result: JsonObject }

/** The vector of a text: numbers, or the base64 of 32-bit floats in little-endian order. */
export type Vector = readonly number[] | string

/**
 * Content of a reply that no other part describes, in the provider's format. Clients of the same format get
 * it. Of others, those that can send it back get signatures and encrypted reasoning, encoded.
 */
export interface ExtraPart {
  readonly type: 'extra'
  /**
   * `start`: the block that follows, which other parts fill; `delta`: an addition to the current block;
   * `block`: a complete block; `message`: fields of the whole reply.
   */
  readonly place: 'start' | 'delta' | 'block' | 'message'
  readonly content: ReasoningData
  /** Checksum of the text of the block, if the content is valid only together with it: a signature. */
  readonly textChecksum?: number
}

/**
 * The start of a tool call. `extra_content` must be sent back to the provider with the call in the next
 * request, such as Gemini's thought signature.
 */
export interface ToolStart {
  readonly type: 'tool-start'
  readonly index: number
  readonly id: string
  readonly name: string
  /** The call of a custom tool, whose input is any text. */
  readonly custom?: true
  readonly extra_content?: JsonObject
}

/**
 * One record of a reply: a stream event or a complete body; or several text records of a stream that arrived
 * together, with one part each. Transforms get records one by one. Events are immutable; `withParts` returns
 * a changed one. A reply that no plugin changes is passed on to clients of the same format as the provider
 * sent it, including fields that `parts` does not describe.
 */
export class ReplyEvent {
  /** Declared only, so that a run can read its parts on demand. */
  declare readonly parts: readonly ReplyPart[]
  declare readonly [NATIVE]?: NativeRecord
  declare [TEXT_RUN]?: TextRun<ReplyEvent>

  /** `native` is the provider's record, for providers whose format is the canonical one (OpenAI's chat). */
  constructor(parts: readonly ReplyPart[], native?: NativeRecord) {
    this.parts = parts
    if (native !== undefined) this[NATIVE] = native
  }

  /** Returns an event with other parts. Drops the provider's own record, so that clients get the parts. */
  withParts(parts: readonly ReplyPart[]): ReplyEvent {
    return new ReplyEvent(parts)
  }
}

/**
 * A reply of a provider, or of a plugin that answers itself. A stream yields the events that arrived
 * together as one batch. It is consumed at the client's pace (backpressure) and throws a `GatewayError` if
 * the provider fails after the stream has started.
 */
export type Reply =
  | { readonly type: 'whole'; readonly event: ReplyEvent }
  | { readonly type: 'stream'; readonly batches: AsyncIterable<readonly ReplyEvent[]> }

/**
 * Transforms the events of one reply, in order. A whole reply is one event. The provider's usage, finish
 * reason and errors are recorded before transforms see them. A transform that throws ends the reply with an
 * error; nothing that it has held back is sent.
 */
export interface ReplyTransform {
  /** Returns the events to send in place of an event: none holds it back or drops it. */
  transform(event: ReplyEvent): MaybePromise<readonly ReplyEvent[]>
  /** Called after the last event. Returns the events that were held back. */
  flush?(): MaybePromise<readonly ReplyEvent[]>
}
