import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject, type RecordedEvent } from '../contract/index.ts'

/**
 * Changes to the learned routers, all in one stream. A version does not change, and at most one is active in
 * each scope. See docs/decisions/routing.md, "The weights of a version are in a stream of their own".
 */
export type RouterEvent =
  | { type: 'RouterTrained'; data: RouterVersionData }
  | { type: 'RouterActivated'; data: { version: number; scope: RouterScope } }
  /** `version` is active again; null: none is. */
  | { type: 'RouterRolledBack'; data: { scope: RouterScope; from: number; version: number | null } }

/** The users whose requests a version is for. A group takes precedence over everyone. */
export type RouterScope = { readonly everyone: true } | { readonly groupId: number }

/** A version with its weights. */
export type TrainedRouterData = RouterDescription & {
  /** By the catalogue's id of the model. */
  readonly models: Readonly<Record<string, TrainedModel>>
}

export type RouterVersionData = RouterDescription & {
  /** By the catalogue's id of the model. The weights are in the stream `routerWeightsStream(checksum)`. */
  readonly models: Readonly<Record<string, RatedModel>>
  /** Size of the event with the weights. */
  readonly bytes: number
  /**
   * Hash of the leaf of the event with the weights, in hex, by which the transparency log covers that event,
   * too.
   */
  readonly weightsLeaf: string
}

type RouterDescription = {
  /** Counts the versions of all scopes from 1. */
  readonly version: number
  readonly scope: RouterScope
  /** How the version was judged. */
  readonly figures: JsonObject
  /** The ratings that it was trained from: how many, of which time. */
  readonly trainedFrom: JsonObject
  /** Identifies the key that words were hashed with. */
  readonly featureKeyId: string
  /** `checksumOf` the models with their weights. */
  readonly checksum: string
}

export type RatedModel = {
  /** Number of ratings of this model. */
  readonly ratings: number
}

export type TrainedModel = RatedModel & {
  /** As the learner encodes them. */
  readonly weights: string
}

export const ROUTERS_STREAM = 'routers'

/**
 * Streams of weights: `{prefix}{checksum}`. Nobody follows them, so its name must not begin with that of a
 * followed stream, by which servers filter.
 */
export const ROUTER_WEIGHTS_PREFIX = 'router-weights-'

/** The only type of event in a stream of weights. Its data are the models of a `TrainedRouterData`. */
export const ROUTER_WEIGHTS_STORED = 'RouterWeightsStored'

export function routerWeightsStream(checksum: string): string {
  return ROUTER_WEIGHTS_PREFIX + checksum
}

/** The models with their weights that an event holds; undefined if it is none with weights. */
export function modelsOfWeights({ type, data, metadata }: RecordedEvent): TrainedModels | undefined {
  if (type !== ROUTER_WEIGHTS_STORED || metadata.schema !== 1) return undefined
  return isTrainedModels(data.models) ? data.models : undefined
}

export type TrainedModels = TrainedRouterData['models']

export function isTrainedModels(models: unknown): models is TrainedModels {
  const isModel = (model: unknown) => isRatedModel(model) && typeof model.weights === 'string'
  return isJsonObject(models) && Object.values(models).every(isModel)
}

export function isRatedModel(model: unknown): model is JsonObject {
  return isJsonObject(model) && Number.isSafeInteger(model.ratings)
}

/** SHA-256 of models with their weights, in hex. */
export function checksumOf(models: TrainedModels): string {
  const sorted = Object.keys(models).toSorted()
  const hash = createHash('sha256')
  for (const id of sorted) hash.update(JSON.stringify([id, models[id]?.ratings, models[id]?.weights]))
  return hash.digest('hex')
}

/** Of an event with weights: below what a log takes in one append, with the metadata. */
export const MAX_ROUTER_BYTES = 900_000

/** Each takes a quarter of a megabyte in memory once it is decoded, in every process. */
export const MAX_ROUTER_MODELS = 128

/** Identifies a scope: `everyone`, or `group-{id}`. */
export function scopeName(scope: RouterScope): string {
  return 'everyone' in scope ? 'everyone' : `group-${scope.groupId}`
}
