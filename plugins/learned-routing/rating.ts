import type { TrainedFigures } from './figures.ts'

/** Somebody's opinion of an answer, with what is kept of the prompt. */
export interface Rating {
  readonly model: string
  /** 0 (bad) to 1 (good). */
  readonly score: number
  /** As `encodeFeatures` makes them. */
  readonly features: Uint8Array
  /** In milliseconds. */
  readonly time: number
  /** Who rated: a user, or a source of imports. All ratings without one are of one source. */
  readonly user?: string | number | null | undefined
  /** Judged by group, too, where there are enough. */
  readonly group?: string | null | undefined
  /** The probability with which the model was drawn, if the choice was one of exploration. */
  readonly propensity?: number | null | undefined
}

/** What the learner must know of a model of the catalogue. */
export interface LearnedModelInfo {
  /** The price of a typical request, in any unit. */
  readonly cost: number
  /** The constant that ranks the model without learning. */
  readonly quality: number
}

export interface TrainingOptions {
  /** By model. Ratings of others are skipped: of retired models, above all. */
  readonly catalogue: Readonly<Record<string, LearnedModelInfo>>
  /** The weights of all models together take at most this many bytes; the least important are left out. */
  readonly maxBytes?: number | undefined
  readonly seed?: number | undefined
}

export interface TrainedFrom {
  readonly ratings: number
  /** Ratings of models that the catalogue does not have, or with features of another format. */
  readonly skipped: number
  readonly raters: number
  /** Of the weight of all ratings, before it is capped: 1 if one user gave them all. */
  readonly largest_rater_share: number
  readonly since: string | null
  readonly until: string | null
}

export interface TrainedRouter {
  readonly models: Readonly<Record<string, { readonly ratings: number; readonly weights: string }>>
  readonly figures: TrainedFigures
  readonly trained_from: TrainedFrom
}
