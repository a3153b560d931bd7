import type { RequestFeedback } from './feedback-queries.ts'
import type { AnswerSignal, LedgerRecord, PromptContent, PromptOmission } from './record.ts'

/** Filters of requests. All that are set must hold. */
export interface RequestFilter {
  readonly userId?: number
  readonly keyId?: string
  /** A group that the user was in. */
  readonly groupId?: number
  /** Groups of which the user was in one. Of none, there are no requests. */
  readonly anyGroup?: readonly number[]
  /** A rule of which an action was applied. */
  readonly rule?: RuleReference
  /** An action that a rule applied. */
  readonly action?: string
  readonly status?: number
  readonly model?: string
  readonly provider?: string
  readonly endpoint?: string
  readonly sessionId?: string
  /** Copies of requests for other models: together with the requests, or alone. Default: left out. */
  readonly copies?: 'include' | 'only'
  /** Unix times in milliseconds: arrived at or after `since`, and before `until`. */
  readonly since?: number
  readonly until?: number
  /** Bounds of the score for quality, inclusive. */
  readonly minScore?: number
  readonly maxScore?: number
  /** Part of the message or of the code of the error; upper and lower case are the same. */
  readonly text?: string
}

export interface RuleReference {
  readonly kind: string
  readonly id: number
}

export interface RequestQuery {
  readonly filter: RequestFilter
  /** Only requests before this id, which is the cursor of the previous page. */
  readonly before?: number
  readonly limit: number
}

/** Newest first. */
export interface RequestPage {
  readonly records: readonly StoredRecord[]
  /** Undefined on the last page. */
  readonly next?: number
}

export interface StoredRecord extends Omit<LedgerRecord, 'prompt' | 'features' | 'promptChecksum'> {
  readonly id: number
  /** By name. */
  readonly feedback: readonly RequestFeedback[]
}

/** What is recorded of the prompt of a request. */
export interface StoredPrompt {
  readonly requestId: string
  readonly userId: number
  readonly mode: 'masked' | 'full'
  readonly omission: PromptOmission | null
  /** Null if it was omitted or cannot be decrypted. */
  readonly content: PromptContent | null
  /** Why it cannot be decrypted; completes "the prompt cannot be decrypted: …". */
  readonly unreadable?: string
}

export const USAGE_DIMENSIONS = [
  'user',
  'group',
  'key',
  'model',
  'provider',
  'rule',
  'arm',
  'hour',
  'day',
] as const

export type UsageDimension = (typeof USAGE_DIMENSIONS)[number]

export interface UsageQuery {
  readonly groupBy: readonly UsageDimension[]
  /** Hours since 1970; `until` is not part of the range. */
  readonly since: number
  readonly until: number
  readonly userId?: number
  readonly keyId?: string
  readonly groupId?: number
  /** As in `RequestFilter`. Usage by group is that of these groups only. */
  readonly anyGroup?: readonly number[]
  /** Maximum number of groups. */
  readonly limit: number
}

/** The usage of one group. The fields of its dimensions are set. */
export interface UsageGroup {
  readonly user?: number
  readonly group?: number
  readonly key?: string
  readonly model?: string | null
  readonly provider?: string | null
  readonly rule?: RuleReference
  /** The model that a split has drawn. Requests without one are left out. */
  readonly arm?: string
  /** Hours since 1970. */
  readonly hour?: number
  /** Days since 1970. */
  readonly day?: number
  readonly requests: number
  readonly errors: number
  readonly cacheHits: number
  readonly unknownCosts: number
  readonly input: number
  readonly cached: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
  /** Nano-dollars. */
  readonly cost: number
  /** Requests with a score for quality, and the sum of these scores in millionths. */
  readonly ratings: number
  readonly score: number
  readonly signals: Readonly<Record<AnswerSignal, number>>
}

/** Unix times in milliseconds: arrived at or after `since`, and before `until`. */
export interface CopyQuery {
  readonly since: number
  readonly until: number
  readonly userId?: number
  readonly anyGroup?: readonly number[]
}

/** The copies of one rule for one model. */
export interface CopySums {
  /** Null for copies that were recorded without their rule. */
  readonly rule: RuleReference | null
  readonly provider: string | null
  readonly model: string | null
  readonly copies: number
  readonly errors: number
  readonly unknownCosts: number
  /** Nano-dollars. */
  readonly cost: number
  readonly input: number
  readonly output: number
  /** Mean of those that were answered; null if there are none. */
  readonly latencyMs: number | null
  /** Copies with a score for quality, and the sum of these scores in millionths. */
  readonly ratings: number
  readonly score: number
}

/**
 * At most one of user, key, group and copies; none means everything. Users pay for the copies that their own
 * rules asked for.
 */
export interface CostQuery {
  /** Unix times in milliseconds: arrived at or after `since`, and before `until`. */
  readonly since: number
  readonly until?: number
  readonly userId?: number
  readonly keyId?: string
  readonly groupId?: number
  /** Copies of requests for other models. */
  readonly copies?: true
  /** Ids of requests that are not part of the sum. */
  readonly except?: readonly string[]
}

export interface CostSum {
  /** Nano-dollars, with what budgets assume for requests of unknown cost. */
  readonly cost: number
  /** Requests of unknown cost. */
  readonly unknownCosts: number
}
