import type { ChatRequest, ReplyEvent } from './chat.ts'
import type { GatewayError } from './errors.ts'

/** Where a request goes. `entry` is the catalogue's row; without it the name is passed to the provider as it stands. */
export interface Target {
  readonly provider: string
  readonly model: string
  /** The name by which the model was asked for, where that is another. */
  readonly alias?: string
  readonly entry?: Model
}

/** The HTTP request to a provider, relative to its base URL. */
export interface ProviderRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Request fields that the target cannot take and that were left out; the caller is warned. */
  readonly omitted: readonly string[]
}

/** One SSE record; `event` is empty where the provider names none. */
export interface SseEvent {
  readonly event: string
  readonly data: string
}

/** Reads one provider stream, record by record. It keeps state: one reader per reply. */
export interface StreamReader {
  /** True once the provider has said that the reply is complete. Left out where only the end of the bytes says so. */
  isDone?(): boolean
  /** Throws a `GatewayError` on a record that reports a failure. */
  read(event: SseEvent): readonly ReplyEvent[]
  /** Called at the end of the bytes. Throws a `GatewayError` when the provider stopped before it was done. */
  end(): readonly ReplyEvent[]
}

/** A provider's wire format. Pure: values in, values out; the network is elsewhere. */
export interface ProviderAdapter {
  /** The format's name, such as `openai`. */
  readonly format: string
  buildRequest(request: ChatRequest, target: Target, apiKey: string): ProviderRequest
  /** Reads the parsed JSON of a whole reply; throws a `GatewayError` when it is not one. */
  parseReply(body: unknown): ReplyEvent
  createStreamReader(): StreamReader
  /** Turns an answer other than 2xx into the error that the client gets. `body` is at most a few KB of text. */
  parseError(failure: ProviderErrorResponse): GatewayError
}

export interface ProviderErrorResponse {
  readonly provider: string
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** USD per million tokens. */
export interface Price {
  readonly input: number
  /** Input read from the provider's cache; as `input` when left out. */
  readonly cached?: number
  /** Input written to the provider's cache; as `input` when left out. */
  readonly cache_write?: number
  readonly output: number
}

/** A row of the model catalogue (`config/models.yaml`). `price.above` holds for the whole request when its input is larger. */
export interface Model {
  readonly id: string
  readonly provider: string
  readonly aliases: readonly string[]
  /** Tokens of input and output together. */
  readonly context: number
  readonly max_output: number
  readonly price: Price & { readonly above?: Price & { readonly input_tokens: number } }
  /** 0 to 100: how good the answers are, a default to tune. */
  readonly quality: number
  /** Expected milliseconds to a short answer, until live figures replace it. */
  readonly latency_ms: number
  readonly capabilities: {
    readonly tools: boolean
    readonly images: boolean
    /** `none`, `json_object`, or both forms. */
    readonly json: 'none' | 'object' | 'schema'
  }
  /** Reasoning models take `max_completion_tokens` only. */
  readonly reasoning: boolean
  /** False where the provider refuses temperature, top_p, penalties, logprobs and logit_bias. */
  readonly sampling: boolean
  readonly quirks: Quirks
}

/** What a provider's adapter must know about a model, beyond what every provider's models have. Left out: nothing special. */
export interface Quirks {
  /** False where a forced `tool_choice` is refused (anthropic). */
  readonly forced_tools?: boolean
  /** How thinking is asked for: by `effort`, also when left out, by a `budget` of tokens (anthropic), by `prompt_mode` (mistral). */
  readonly thinking?: 'effort' | 'budget' | 'prompt_mode'
  /** How thinking is switched off, where it can be (anthropic, mistral). */
  readonly thinking_off?: 'disabled' | 'between_tools'
  /** The efforts that it takes, least first; when left out, all (anthropic), low to high (gemini) or none (mistral). */
  readonly efforts?: readonly string[]
  /** The one mode in which `top_p` counts (deepseek): while thinking, from 0.95 up, or in `plain` answers. */
  readonly top_p?: 'thinking' | 'plain'
}
