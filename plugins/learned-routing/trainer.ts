import { type Author, GatewayError } from '../../core/contract/index.ts'
import type { RouterScope } from '../../core/events/router-events.ts'
import type { RouterVersion } from '../../projections/routers.ts'
import { DAY_MS } from '../ledger/store/units.ts'
import type { AddVersionOptions, NewRouter, RouterCommands } from './router-commands.ts'
import { type RouterVerdict, verdictOf } from './show-router.ts'

/** What a training needs to know; the ratings are read where it runs. */
export interface TrainingJob {
  readonly scope: RouterScope
  /** Unix time in milliseconds of the oldest ratings. */
  readonly since: number
  readonly minRatings: number
  /** Quality of the catalogue's models, from 0 to 1, and their cost of a typical request, by id. */
  readonly models: readonly TrainedModelFacts[]
}

export interface TrainedModelFacts {
  readonly id: string
  readonly quality: number
  readonly cost: number
}

/** What a training led to: a router, or too few ratings for one. */
export type TrainingOutcome =
  | { readonly type: 'trained'; readonly router: NewRouter }
  | { readonly type: 'too_few'; readonly ratings: number }

export interface TrainerServices {
  readonly commands: RouterCommands
  /** Trains in a thread. */
  run(job: TrainingJob): Promise<TrainingOutcome>
  /** Writes the records and ratings that wait. */
  settleLedger(): Promise<void>
  readonly facts: () => readonly TrainedModelFacts[]
  readonly trainDays: number
  readonly minRatings: number
  /** Whether a new version with this verdict is activated. */
  activates(verdict: RouterVerdict): boolean
}

/**
 * Trains a new version for a scope, and activates it if it is better and the settings say so. Throws 409 if
 * there are too few ratings, or another version was trained meanwhile that `options` exclude.
 */
export async function trainVersion(
  scope: RouterScope,
  author: Author,
  services: TrainerServices,
  options: AddVersionOptions = {},
): Promise<RouterVersion> {
  const { commands, minRatings, trainDays } = services
  commands.checkAuthor(author)
  await services.settleLedger()
  const since = Date.now() - trainDays * DAY_MS
  const outcome = await services.run({ scope, since, minRatings, models: services.facts() })
  if (outcome.type === 'too_few') {
    const message =
      `There are ${outcome.ratings} ratings with features of the last ${trainDays} days, and at least ` +
      `${minRatings} are needed (routing.min_ratings). Collect feedback with routing.learned: shadow.`
    throw new GatewayError('conflict', message)
  }
  const router = await commands.addVersion(outcome.router, author, options)
  if (services.activates(verdictOf(router))) await commands.activate(router.version, author)
  return router
}
