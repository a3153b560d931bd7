/** A value with the limits between which it is with 95 %: of bootstrap samples, if nothing else is said. */
export interface Interval {
  readonly value: number
  readonly low: number
  readonly high: number
}

/** What a way to choose models achieves on the prompts of the holdout. */
export interface StrategyFigures {
  /** The mean score over all budgets, from that of the cheapest model to that of the best one. */
  readonly quality: Interval
  /** Average performance gap recovered: 0 is the cheapest model, 1 the best one. Null without a clear gap. */
  readonly apgr: number | null
  /** By how much the version is better. */
  readonly gain?: Interval
  /** Share of the cost between the cheapest and the best model, and the mean score, both 0 to 1. */
  readonly curve: readonly (readonly [cost: number, quality: number])[]
}

interface CandidateFigures {
  readonly model: string
  readonly cost: number
  /** In the holdout. */
  readonly ratings: number
  readonly quality: Interval
}

/** The figures of a part of the prompts. */
export interface PartFigures {
  readonly name: string
  readonly prompts: number
  readonly better: boolean
  readonly quality: Readonly<Record<string, number>>
  /** Over the best of the baselines. */
  readonly gain: Interval
}

/** What one estimator says that a choice without regard to cost would score. */
export interface ExplorationFigures {
  readonly ratings: number
  readonly policies: Readonly<
    Record<string, { readonly inverse_propensity: Interval; readonly doubly_robust: Interval }>
  >
}

/** How fits fared on whole kinds of prompts that they were not trained on. */
export interface NewKindsFigures {
  readonly prompts: number
  /**
   * By baseline: by how much the fits are better, with the prediction interval for a part of other new kinds.
   * Empty if there are too few prompts or kinds.
   */
  readonly gains: Readonly<Record<string, Interval>>
  /** Whether no interval reaches below its baseline by more than is tolerated. */
  readonly holds: boolean
}

/** How a version was judged on the newest fifth of the ratings, as plain JSON. */
export interface KnownKindsFigures {
  /** Whether the version is above all baselines with 97.5 % of the bootstrap samples, by four raters. */
  readonly better_on_known_kinds: boolean
  /** Says why a version is not better, or was not judged. */
  readonly reason: string | null
  readonly prompts: number
  /** Users and importers whose ratings the verdict rests on: none of them for more than a quarter. */
  readonly raters: number
  /** Whether every prompt has ratings of all candidates. Else, what is missing is estimated. */
  readonly complete: boolean
  readonly candidates: readonly CandidateFigures[]
  /** `version`, the baselines, and `foresight` where it is known. Empty if the version was not judged. */
  readonly strategies: Readonly<Record<string, StrategyFigures>>
  readonly by_group: readonly PartFigures[]
  readonly by_cluster: readonly PartFigures[]
  readonly exploration: ExplorationFigures | null
}

/** How a version was judged in all. */
export interface RouterFigures extends KnownKindsFigures {
  /** Whether it is better on known kinds of prompts, and not below any baseline on new ones. */
  readonly better: boolean
  /** Null if it is not better on known kinds. */
  readonly new_kinds: NewKindsFigures | null
}

/** Says that the stored version learned from more ratings than the one that was judged. */
export interface TrainedFigures extends RouterFigures {
  /** The numbers of ratings that each fit learned from. */
  readonly fits: { readonly judged: number; readonly stored: number }
}
