import type { Logger } from 'pino'
import { type Author, GatewayError } from '../../core/contract/index.ts'
import { SYSTEM_ACTOR } from '../../core/event-log/actor.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { MAX_ROUTER_BYTES, type RouterScope, type RouterVersion } from '../../projections/events/routers.ts'
import type { Routers } from '../../projections/routers.ts'
import type { RatingPage, RatingQuery } from '../ledger/index.ts'
import { DAY_MS } from '../ledger/index.ts'
import { BUCKETS } from './features.ts'
import type { KnownKindsFigures, NewKindsFigures, RouterFigures } from './figures.ts'
import { judgeRouter } from './judge.ts'
import { describeHarm, judgeNewKinds } from './judge-new-kinds.ts'
import { decodeWeights, encodeWeights, type FittedRow, fitModel } from './model.ts'
import type { Rating, TrainedRouter, TrainingOptions } from './rating.ts'
import {
  collectRows,
  createRatingCollection,
  type RatingCollection,
  splitRatings,
  weighPrompts,
} from './ratings.ts'
import type { AddVersionOptions, NewRouter, RouterCommands } from './router-commands.ts'
import { isOfScope, type RouterVerdict, verdictOf } from './schemas.ts'

const DEFAULT_MAX_BYTES = 900_000
/** Of a word in base64: two bytes of weight, one or two of gap. */
const BYTES_PER_WORD = 5

/** As `trainCollected`, from ratings in memory. */
export function trainRouter(ratings: Iterable<Rating>, options: TrainingOptions): TrainedRouter {
  const collection = createRatingCollection(options.catalogue)
  for (const rating of ratings) collection.add(rating)
  return trainCollected(collection, options)
}

/**
 * Judges on the newest ratings of each rater what is learned from the older ones, then fits the version to
 * all of them. See docs/decisions/learned-routing.md, "The version is fitted to all ratings". Pure: the same
 * ratings and seed yield the same version. Takes seconds, so it belongs in a thread.
 */
function trainCollected(
  collection: RatingCollection,
  { catalogue, maxBytes = DEFAULT_MAX_BYTES, seed = 1 }: TrainingOptions,
): TrainedRouter {
  const prompts = collection.prompts()
  const parts = splitRatings(prompts)
  const [training, holdout] = [weighPrompts(parts.training, seed), weighPrompts(parts.holdout, seed)]
  const rowsOf = collectRows(training)
  const judged = fitModels(rowsOf, maxBytes)
  const figures = judgeRouter({
    // As they would be read, with their precision.
    models: Object.fromEntries(
      Object.entries(judged).map(([model, { ratings, weights }]) => [
        model,
        { ratings, weights: decodeWeights(weights) },
      ]),
    ),
    trainedMeans: Object.fromEntries([...rowsOf].map(([model, rows]) => [model, meanScore(rows)])),
    holdout,
    catalogue,
    seed,
  })
  const all = weighPrompts(prompts, seed)
  const newKinds = figures.better_on_known_kinds
    ? judgeNewKinds(all, { candidates: figures.candidates.map(({ model }) => model), catalogue, seed })
    : null
  const models = fitModels(collectRows(all), maxBytes)
  const countOf = (fitted: typeof models) =>
    Object.values(fitted).reduce((sum, { ratings }) => sum + ratings, 0)
  const fits = { judged: countOf(judged), stored: countOf(models) }
  return {
    models,
    figures: { ...combineVerdicts(figures, newKinds), fits },
    trained_from: collection.describe(),
  }
}

/** A version is better if it is so on known kinds of prompts, and does no harm on new ones. */
function combineVerdicts(figures: KnownKindsFigures, newKinds: NewKindsFigures | null): RouterFigures {
  const better = newKinds?.holds ?? false
  return {
    better,
    ...figures,
    reason: newKinds === null || better ? figures.reason : describeHarm(newKinds),
    new_kinds: newKinds,
  }
}

function fitModels(rowsOf: ReadonlyMap<string, readonly FittedRow[]>, maxBytes: number) {
  const maxWords = Math.min(BUCKETS, Math.floor(maxBytes / BYTES_PER_WORD / Math.max(1, rowsOf.size)))
  return Object.fromEntries(
    [...rowsOf].map(([model, rows]) => [
      model,
      { ratings: rows.length, weights: encodeWeights(fitModel(rows), maxWords) },
    ]),
  )
}

function meanScore(rows: readonly FittedRow[]): number {
  const whole = rows.reduce((sum, { weight }) => sum + weight, 0)
  return rows.reduce((sum, { score, weight }) => sum + score * weight, 0) / whole
}

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

const PAGE_SIZE = 2000

/** What the names of the models may take beside their weights. */
const NAMES_BYTES = 50_000

/** The ledger, as far as it keeps ratings. */
interface RatingSource {
  ratings(query: RatingQuery): Promise<RatingPage>
}

/** Reads the ratings of a scope and trains a router from them. */
export async function trainFromLedger(
  { scope, since, minRatings, models }: TrainingJob,
  ledger: RatingSource,
): Promise<TrainingOutcome> {
  const catalogue = Object.fromEntries(models.map(({ id, cost, quality }) => [id, { cost, quality }]))
  const collection = createRatingCollection(catalogue)
  const group = 'groupId' in scope ? { groupId: scope.groupId } : {}
  await readRatings(ledger, { since, limit: PAGE_SIZE, ...group }, collection)
  if (collection.used() < minRatings) return { type: 'too_few', ratings: collection.used() }
  const trained = trainCollected(collection, { catalogue, maxBytes: MAX_ROUTER_BYTES - NAMES_BYTES })
  return {
    type: 'trained',
    router: {
      scope,
      models: trained.models,
      figures: { ...trained.figures },
      trainedFrom: { ...trained.trained_from },
    },
  }
}

async function readRatings(
  ledger: RatingSource,
  query: RatingQuery,
  collection: RatingCollection,
): Promise<void> {
  let after: number | undefined
  do {
    const page = await ledger.ratings({ ...query, ...(after !== undefined && { after }) })
    for (const { features, userId, givenBy, propensity, groups, ...rating } of page.ratings)
      collection.add({
        ...rating,
        features: Buffer.from(features, 'base64'),
        // All that one operator imports is the opinion of one.
        user: userId > 0 ? userId : `import by ${givenBy}`,
        ...(propensity !== null && { propensity }),
        ...(groups !== null && { group: groups }),
      })
    after = page.next
  } while (after !== undefined)
}

const EVERYONE = { everyone: true } as const
const HOUR_MS = 3_600_000
/** How often it is checked whether a training is due. */
const CHECK_MS = 600_000

/**
 * Trains the router for everyone when its newest version is old enough. Of several nodes that do so at the
 * same time, the first one writes its version. Returns a function that stops it.
 */
export function scheduleTraining(
  everyHours: number,
  routers: Pick<Routers, 'versions'>,
  trainer: TrainerServices,
  logger: Logger,
): () => void {
  if (everyHours === 0) return () => undefined
  let isRunning = false

  async function trainIfDue(): Promise<void> {
    const newest = routers.versions().findLast((router) => isOfScope(router, EVERYONE))
    const age = newest ? Date.now() - Date.parse(newest.trainedAt) : Number.POSITIVE_INFINITY
    if (isRunning || age < everyHours * HOUR_MS) return
    isRunning = true
    try {
      const { version } = await trainVersion(
        EVERYONE,
        { actor: SYSTEM_ACTOR, reason: 'scheduled training' },
        trainer,
        { after: newest?.version ?? 0 },
      )
      logger.info({ version }, 'version of the router trained')
    } catch (error) {
      const reason = errorMessage(error)
      if (GatewayError.isInstance(error) && error.code === 'conflict')
        logger.debug({ reason }, 'no version of the router trained')
      else logger.warn({ reason }, 'training of the router failed')
    } finally {
      isRunning = false
    }
  }

  const timer = setInterval(() => void trainIfDue(), CHECK_MS).unref()
  void trainIfDue()
  return () => clearInterval(timer)
}
