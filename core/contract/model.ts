/** USD per million tokens. */
export interface Price {
  readonly input: number
  /** Input read from the vendor's cache; as `input` when left out. */
  readonly cached?: number
  /** Input written to the vendor's cache; as `input` when left out. */
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
  /** False where the vendor refuses temperature, top_p, penalties, logprobs and logit_bias. */
  readonly sampling: boolean
  readonly quirks: Quirks
}

/** What a vendor's adapter must know about a model, beyond what every vendor's models have. Left out: nothing special. */
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
