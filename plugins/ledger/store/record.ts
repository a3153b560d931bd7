import type {
  AnswerIssue,
  ChatRequest,
  FinishReason,
  Message,
  RouterChoice,
  RuleTraceEntry,
  Warning,
} from '../../../core/contract/index.ts'

/** One request as the ledger keeps it. Only `prompt` contains text of the request, and of its reply. */
export interface LedgerRecord {
  /** `req_…`; encodes the time at which the request arrived. */
  readonly requestId: string
  readonly userId: number
  readonly keyId: string
  /** Ids of the groups that the user was in, ascending. */
  readonly groups: readonly number[]
  /** The path of the endpoint, such as `/v1/chat/completions`. */
  readonly endpoint: string
  readonly requestedModel: string | null
  readonly mode: string | null
  /** Why the model was chosen. */
  readonly reason: string | null
  /** HTTP status; 499 if the client disconnected before there was a response. */
  readonly status: number
  readonly error: RecordedError | null
  /** The target that replied. */
  readonly provider: string | null
  readonly model: string | null
  /** The deployment that replied, if the provider has any. */
  readonly deployment?: string
  readonly attempts: readonly RecordedAttempt[]
  readonly rules: readonly RuleTraceEntry[]
  readonly rulesPosition: number
  readonly warnings: readonly Warning[]
  /** Undefined until the provider has reported them, and if no provider replied. */
  readonly tokens: RecordedTokens | null
  /** In nano-dollars, so that sums are exact; null if unknown. */
  readonly cost: number | null
  readonly latencyMs: number
  /** Undefined if the body could not be read or parsed. */
  readonly times?: RecordedTimes
  /** Only for streams whose first event arrived. */
  readonly firstTokenMs: number | null
  readonly isStream: boolean
  readonly isCacheHit: boolean
  readonly isAborted: boolean
  /** The W3C trace id; null if the request was not traced. */
  readonly traceId: string | null
  /**
   * Null if prompts are not recorded. See docs/decisions/prompt-recording.md, "Prompts are written with their
   * records".
   */
  readonly prompt: RecordedPrompt | null
  /** The learned router that took part in the choice of the model. */
  readonly router?: RouterChoice
  /** The model that a split has drawn. */
  readonly arm?: string
  /** The request that this one is a copy of. */
  readonly shadowOf?: string
  /** Whether the user pays for the copy, because a rule of theirs asked for it. */
  readonly isOwnCopy?: boolean
  /** What the reply and the caller's next request say about the reply. Undefined if there is nothing. */
  readonly signals?: readonly AnswerSignal[]
  /** What budgets count in place of an unknown cost, in nano-dollars. */
  readonly assumedCost?: number
  /** Tells whether the same caller sent the same prompt before. Not stored. */
  readonly promptChecksum?: number
  /** The session that the client named. */
  readonly sessionId?: string
  /** Hashed features of the prompt, as base64. Stored for requests that a model answered. */
  readonly features?: string
}

type BudgetFields =
  | 'requestId'
  | 'userId'
  | 'keyId'
  | 'groups'
  | 'cost'
  | 'assumedCost'
  | 'shadowOf'
  | 'isOwnCopy'

/** Returns what budgets need of a record, for one that cannot be stored as it is. */
export function toBareRecord(record: Pick<LedgerRecord, BudgetFields>): LedgerRecord {
  const { requestId, userId, keyId, groups, cost, assumedCost, shadowOf, isOwnCopy } = record
  return {
    ...{ requestId, userId, keyId, groups, endpoint: '', requestedModel: null, mode: null, reason: null },
    ...{ status: 500, error: null, provider: null, model: null, attempts: [], rules: [], rulesPosition: 0 },
    ...{ warnings: [], tokens: null, cost, latencyMs: 0, firstTokenMs: null, isStream: false },
    ...{ isCacheHit: false, isAborted: false, traceId: null, prompt: null },
    ...(assumedCost !== undefined && { assumedCost }),
    ...(shadowOf !== undefined && { shadowOf }),
    ...(isOwnCopy !== undefined && { isOwnCopy }),
  }
}

/**
 * `cut_off`: the reply ended at a limit of its length. `invalid_tool_call`: the arguments of a tool call are
 * not JSON. `schema_mismatch`: the reply does not have the form that the request demanded. `asked_again`: the
 * caller sent the same prompt again within a minute.
 */
export type AnswerSignal = AnswerIssue | 'cut_off' | 'asked_again'

/** What is recorded of a prompt: its content, or why there is none. */
export type RecordedPrompt = {
  /** `masked`: as the firewall left it; `full`: as it was received. */
  readonly mode: 'masked' | 'full'
  /** About the length of the content as JSON. */
  readonly chars: number
} & (
  | { readonly content: PromptContent; readonly omission: null; readonly chars: number }
  | { readonly content: null; readonly omission: PromptOmission; readonly chars: 0 }
)

/**
 * `refused`: it was refused before all of its text was masked. `too_long`: it exceeds
 * `ledger.max_prompt_chars`. `queue_full`: too many prompts waited for a ledger that was away. `no_key`: the
 * process that writes has no `RECORD_KEY`.
 */
export type PromptOmission = 'refused' | 'too_long' | 'queue_full' | 'no_key'

/**
 * All that a decision depends on, so that rules can be evaluated again. See
 * docs/decisions/prompt-recording.md, "The canonical request is recorded, not the body".
 */
export interface PromptContent {
  readonly request: ChatRequest
  readonly preferences: readonly string[]
  readonly defaulted: readonly string[]
  /** What the request had and the record does not. */
  readonly leftOut: readonly ('media' | 'metadata' | 'headers')[]
  /** The request headers that conditions of rules declare; missing if the request had none of them. */
  readonly headers?: Readonly<Record<string, string>>
  /** Missing if replies are not recorded, and if there was none. */
  readonly reply?: RecordedReply
}

/**
 * What is recorded of a reply, or why it is not. See docs/decisions/prompt-recording.md, "Replies are
 * recorded as part of their prompts".
 */
export type RecordedReply =
  | {
      /** The message of the assistant, in the form of chat completions. */
      readonly message: Message
      readonly finishReason: FinishReason | null
      /** The reply ended as it should: it did not fail, and its client stayed. */
      readonly isComplete: boolean
      readonly leftOut: readonly ('media' | 'provider_data')[]
    }
  | { readonly omission: ReplyOmission }

/**
 * `refused`: a rule or a guardrail refused it. `too_long`: it exceeds `ledger.max_prompt_chars`. `unmasked`:
 * it ended before the masks of the request were applied to it.
 */
export type ReplyOmission = 'refused' | 'too_long' | 'unmasked'

/** An error as it was told to the caller. */
export interface RecordedError {
  readonly code: string
  /** The error's HTTP status, also where the response had begun with another one. */
  readonly status: number
  /** Undefined for internal errors. */
  readonly message?: string | undefined
  readonly param?: string | undefined
  /** The rule that refused the request. */
  readonly ruleId?: number | undefined
}

/** Milliseconds since a request arrived. One that was refused was not decided. */
export type RecordedTimes = readonly [admittedMs: number, readMs: number, decidedMs?: number]

export interface RecordedAttempt {
  readonly provider: string
  readonly model: string
  readonly deployment?: string
  readonly outcome: string
  readonly ms: number
  /** When it began: milliseconds since the request arrived. */
  readonly startMs?: number
}

export interface RecordedTokens {
  readonly input: number
  readonly cached: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
}
