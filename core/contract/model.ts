/** A row of the model catalogue (`config/models.yaml`). Prices in USD per million tokens. */
export interface Model {
  readonly id: string
  readonly provider: string
  readonly aliases: readonly string[]
  /** Tokens of input and output together. */
  readonly context: number
  readonly max_output: number
  readonly price: { readonly input: number; readonly cached?: number; readonly output: number }
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
}
