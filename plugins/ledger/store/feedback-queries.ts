/** What somebody says about the reply to a request. */
export interface GivenFeedback {
  readonly requestId: string
  /** Only if the request is one of this user. */
  readonly userId?: number
  readonly name: string
  /** From 0 to 1. */
  readonly score: number
  readonly comment: string | null
  /** Id of a key or of an operator. */
  readonly givenBy: string
  /** Unix time in milliseconds. */
  readonly givenAt: number
}

/** `unknown`: the request is not recorded, or is that of another user. */
export type FeedbackOutcome =
  | { readonly outcome: 'given'; readonly userId: number }
  | { readonly outcome: 'unknown' | 'too_many_names' }

/** What somebody said about the reply to a known request. */
export type RequestFeedback = Omit<GivenFeedback, 'requestId' | 'userId'>

/** A rated prompt that did not pass this gateway. */
export interface ImportedRating {
  /** Negative; the same for the same prompt and model. */
  readonly id: number
  readonly model: string
  readonly score: number
  /** Base64. */
  readonly features: string
}

export interface RatingImport {
  readonly ratings: readonly ImportedRating[]
  readonly givenBy: string
  readonly givenAt: number
}

export interface StoredFeedback extends RequestFeedback {
  readonly requestId: string
  readonly userId: number
  readonly provider: string | null
  readonly model: string | null
}

export interface FeedbackFilter {
  readonly userId?: number
  readonly name?: string
  readonly model?: string
  readonly minScore?: number
  readonly maxScore?: number
  /** Unix times in milliseconds: of requests that arrived at or after `since`, and before `until`. */
  readonly since?: number
  readonly until?: number
}

/** The last feedback of a page. */
export interface FeedbackCursor {
  readonly request: number
  readonly name: string
}

export interface FeedbackQuery {
  readonly filter: FeedbackFilter
  readonly before?: FeedbackCursor
  readonly limit: number
}

export interface FeedbackPage {
  readonly feedback: readonly StoredFeedback[]
  /** Undefined on the last page. */
  readonly next?: FeedbackCursor
}

export interface RatingQuery {
  /** Only requests of users who were in this group. */
  readonly groupId?: number
  /** Unix time in milliseconds: given at or after. */
  readonly since: number
  readonly after?: number
  readonly limit: number
}

export interface StoredRating {
  readonly model: string
  readonly score: number
  /** 0 for an imported prompt. */
  readonly userId: number
  /** Id of the key or the operator. */
  readonly givenBy: string
  /** When the request arrived, or when it was imported, as a Unix time in milliseconds. */
  readonly time: number
  /** Base64. */
  readonly features: string
  readonly propensity: number | null
  /** Ids of the user's groups, separated by commas; null without groups. */
  readonly groups: string | null
}

export interface RatingPage {
  readonly ratings: readonly StoredRating[]
  /** Undefined on the last page. */
  readonly next?: number
}
