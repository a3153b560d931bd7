import type { ChatRequest, ReplyEvent } from './chat.ts'
import type { GatewayError } from './errors.ts'
import type { JsonObject, MaybePromise, TObject } from './json.ts'

/** What models do. An inference endpoint asks for one of them, and a model does one of them. */
export type Operation = 'chat' | 'embeddings' | 'moderation'

/** A wire format for an operation other than chat. Its requests are canonical; replies are always whole. */
export interface OperationFormat {
  /** Throws a `GatewayError` for a request that the format cannot express. */
  buildRequest(request: ChatRequest, target: Target): ProviderRequest
  /** Parses the JSON body of a reply to `request`. Throws a `GatewayError` if it is not one. */
  parseReply(body: unknown, request: ChatRequest): ReplyEvent
  /**
   * Parses the text of a reply in place of `parseReply`, for formats that do not need all of it. Undefined:
   * the text is parsed, and passed to `parseReply`.
   */
  parseText?(text: string, request: ChatRequest): ReplyEvent | undefined
}

/** The provider and model that a request is sent to. */
export interface Target {
  readonly provider: string
  readonly model: string
  /** The model name in the request, if it differs from `model`. */
  readonly alias?: string
  /** The model's catalogue entry. Undefined: `model` is sent to the provider unchanged. */
  readonly entry?: Model
  /** Id of the deployment of the provider that the request is sent to. Set by `dispatch`, if it has any. */
  readonly deployment?: string
}

/** Where a model or a deployment works, and what becomes of its data. What is not stated is unknown. */
export interface Attributes {
  /** Such as `eu` or `eu-west-1`. */
  readonly region?: string
  /** Zero data retention is agreed with the provider. */
  readonly zdr?: boolean
  /** Days for which the provider keeps requests and replies. */
  readonly retention_days?: number
  /** The provider trains models on requests and replies. */
  readonly trains_on_data?: boolean
}

/** What a model or a deployment must have to be chosen. A missing field demands nothing. */
export interface Requirement {
  /** It must be in this region, or in all of these. */
  readonly region?: string | readonly string[]
  readonly zdr?: boolean
  /** At most. */
  readonly retention_days?: number
  readonly trains_on_data?: boolean
}

/**
 * The HTTP request to a provider, without authentication. `path` is relative to the provider's base URL.
 */
export interface ProviderRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON, as text or in UTF-8. */
  readonly body: string | Buffer
  /** Request fields that the target does not support and that were left out. The caller gets a warning. */
  readonly omitted: readonly string[]
  /** Request fields that were sent with another value. The caller gets a warning with both values. */
  readonly changed?: readonly ParameterChange[]
}

/** A request field whose value the target does not support, and what it was sent as. */
export interface ParameterChange {
  readonly param: string
  readonly from: unknown
  readonly to: unknown
  /** Why, as the end of a sentence. Default: the target does not support the original value. */
  readonly reason?: string
}

/** One record of a stream. `event` is empty if the record has no event name, as in NDJSON. */
export interface SseEvent {
  readonly event: string
  readonly data: string
}

/** How the body of a stream is divided into records, if neither as SSE nor as NDJSON. */
export interface FrameDecoder {
  /** Called once per stream. */
  createReader(): FrameReader
}

/** Divides the body of one stream into records. What it throws counts as a malformed record. */
export interface FrameReader {
  /** Returns the records that these bytes complete; bytes may be split anywhere. */
  read(bytes: Uint8Array): readonly SseEvent[]
  /** Returns the record that the end of the body completes. Throws if the body ends within a record. */
  end(): readonly SseEvent[]
}

/** The request for a provider, ready to be sent. */
export interface OutgoingRequest {
  readonly method: 'POST'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** The provider's API key, if it has one. */
  readonly apiKey: string | undefined
}

/** Parses one provider stream, record by record. Stateful: one reader per reply. */
export interface StreamReader {
  /** True once the provider has marked the reply as complete. Omit it if only the end of the body does. */
  isDone?(): boolean
  /** Parses one record. Throws a `GatewayError` if the record reports an error. */
  read(event: SseEvent): readonly ReplyEvent[]
  /** Called at the end of the body. Throws a `GatewayError` if the reply is incomplete. */
  end(): readonly ReplyEvent[]
}

/** The fields of a provider's row that say where its service is. */
export interface ProviderLocation {
  readonly region?: string | undefined
  readonly project?: string | undefined
  readonly location?: string | undefined
}

/**
 * The wire format of a provider: JSON over HTTP, and SSE for streams. Its functions but `authorize` are pure
 * and do no I/O.
 */
export interface ProviderAdapter {
  /** Name of the format, such as `openai`, which the setting `format` of a provider selects. */
  readonly format: string
  /**
   * What else `buildRequest` reads: fields of `extra_content`, such as `anthropic`, and `custom_calls` of
   * tools in messages. Otherwise these are converted or left out before.
   */
  readonly reads?: readonly string[]
  /** Schema of `quirks` in rows of the catalogue, without `forced_tools`. Default: there are no others. */
  readonly quirks?: TObject
  /** How streams are divided into records. Default: `sse`. */
  readonly frames?: 'sse' | 'ndjson' | FrameDecoder
  /**
   * The base URL of a provider without the setting `base_url`, from the other fields of its row. Undefined if
   * a field is missing. Default: the setting is required.
   */
  baseUrl?(row: ProviderLocation): string | undefined
  /** Returns the adapter for a provider with the fields of its row. Default: the adapter itself. */
  configure?(row: ProviderLocation): ProviderAdapter
  /**
   * Returns the adapter of a model, for services whose models have formats of their own. It is used in place
   * of this one for all that requests and replies need. Must return the same object for the same format.
   */
  forModel?(model: string): ProviderAdapter
  /** Builds the headers that carry the API key. The setting `auth` of a provider replaces them. */
  buildAuthHeaders(apiKey: string): Readonly<Record<string, string>>
  /**
   * Returns further headers of one request, such as a signature or a short-lived token. Its time is part of
   * the provider's time to respond, and `signal` aborts with the call. If it fails, the call fails as with an
   * invalid key, and the error is not shown. The setting `auth` of a provider replaces it.
   */
  authorize?(request: OutgoingRequest, signal: AbortSignal): MaybePromise<Readonly<Record<string, string>>>
  /** Throws a `GatewayError` for a request that the format cannot express. */
  buildRequest(request: ChatRequest, target: Target): ProviderRequest
  /** Parses the JSON body of a complete reply. Throws a `GatewayError` if it is not a reply. */
  parseReply(body: unknown): ReplyEvent
  /** `request` is the canonical request that the stream answers. */
  createStreamReader(request?: ChatRequest): StreamReader
  /**
   * Counts the input tokens of a chat request, free of charge. The request is sent with the fields that
   * count, and `parseReply` returns the tokens.
   */
  readonly tokenCount?: {
    buildRequest(request: ChatRequest, target: Target): ProviderRequest
    /** Throws a `GatewayError` if the body is not a count. */
    parseReply(body: unknown): number
  }
  /**
   * What the API accepts. Requests are adapted to it before `buildRequest`. Default: the limits of OpenAI's
   * chat completions.
   */
  readonly limits?: ApiLimits
  /** The operations besides chat that the format has. */
  readonly operations?: Readonly<Partial<Record<Exclude<Operation, 'chat'>, OperationFormat>>>
  /**
   * Converts a response with a status other than 2xx to the error for the client. Default: by the status,
   * with the message that common error bodies contain.
   */
  parseError?(failure: ProviderErrorResponse): GatewayError
}

/** What an API accepts (docs/providers.md, "Limits"). What is left out has no limit. */
export interface ApiLimits {
  /** Names of tools. Others are shortened for the provider, and restored in replies. */
  readonly toolNames?: TextLimit
  /** Ids of tool calls in messages. Others are replaced. */
  readonly callIds?: TextLimit
  /** Names of the authors of messages. Others are changed. */
  readonly authorNames?: TextLimit
  /** The name of a JSON schema. Others are changed. */
  readonly schemaNames?: TextLimit
  /** `user`, `safety_identifier` and `prompt_cache_key`. Others are hashed. */
  readonly ids?: TextLimit
  /** Metadata of stored completions. Other entries are left out, with a warning. */
  readonly metadata?: { readonly entries: number; readonly keyChars: number; readonly valueChars: number }
  /** Stop sequences. Further ones are left out, with a warning. */
  readonly stops?: number
  /** Others are mapped into this range, with a warning. */
  readonly seeds?: { readonly min: number; readonly max: number }
  /**
   * Keywords that the schema of a tool's arguments must not have at its root, where the type must be
   * `object`. They are merged into its properties, with a warning.
   */
  readonly refusedAtRoot?: readonly string[]
  /** Strict schemas must require all properties and allow no others; else they are sent as not strict. */
  readonly strictSchemas?: true
  /** Tools of a request. The gateway does not check it: the provider refuses more. */
  readonly tools?: number
  /** Texts of a request for embeddings, and their tokens together. More are sent in several requests. */
  readonly embeddings?: { readonly inputs: number; readonly tokens?: number }
}

/** The form of a text. The pattern includes the length. */
export interface TextLimit {
  readonly pattern: RegExp
  readonly maxChars: number
}

/** A provider's response with a status other than 2xx. `body` is text, cut to a few KB. */
export interface ProviderErrorResponse {
  readonly provider: string
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** Prices in USD per million tokens. */
export interface Price {
  readonly input: number
  /** Input tokens read from the provider's cache; default `input`. */
  readonly cached?: number
  /** Input tokens written to the provider's cache; default `input`. */
  readonly cache_write?: number
  readonly output: number
}

/** An entry of the model catalogue (`config/models.yaml`). */
export interface Model extends Attributes {
  readonly id: string
  readonly provider: string
  readonly aliases: readonly string[]
  /** Default: `chat`. */
  readonly operation?: Operation
  /** The lengths of the vectors of an embedding model. */
  readonly dimensions?: Dimensions
  /** Size of the context window: tokens of input and output together; of each text of an embedding model. */
  readonly context: number
  /** Maximum output tokens. */
  readonly max_output: number
  /** `above` replaces the prices for the whole request if its input is larger than `input_tokens`. */
  readonly price: Price & {
    readonly above?: Price & { readonly input_tokens: number }
    /** Factors of the price by service tier, where they differ from those of the provider. */
    readonly tiers?: Readonly<Record<string, number>>
  }
  /** Quality of the replies from 0 to 100; a default to tune. */
  readonly quality: number
  /** Expected milliseconds to a short reply, used until latency is measured. */
  readonly latency_ms: number
  readonly capabilities: {
    readonly tools: boolean
    readonly images: boolean
    /** `object`: JSON mode; `schema`: JSON mode and structured outputs. */
    readonly json: 'none' | 'object' | 'schema'
  }
  /** A reasoning model: accepts `max_completion_tokens`, not `max_tokens`. */
  readonly reasoning: boolean
  /** False if the provider rejects temperature, top_p, penalties, logprobs and logit_bias. */
  readonly sampling: boolean
  readonly quirks: Quirks
  /** The day (`YYYY-MM-DD`) from which the provider no longer serves the model. */
  readonly retires?: string
  /** False if automatic choice considers the model only for callers who prefer it by name. */
  readonly automatic?: boolean
}

/** Lengths of vectors. Without `min`, the model has no other length than `default`. */
export interface Dimensions {
  readonly default: number
  readonly min?: number
  /** Default: `default`. */
  readonly max?: number
}

/** Provider-specific behaviour of a model: beside `forced_tools`, what the adapter's schema has. */
export interface Quirks extends JsonObject {
  /** False if a forced `tool_choice` is rejected. */
  readonly forced_tools?: boolean
}
