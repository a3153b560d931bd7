import type { JsonObject } from '../contract/index.ts'

/**
 * Changes to the learned routers, all in one stream. A version does not change, and at most one is active in
 * each scope. See docs/decisions/routing.md, "A version of a router is one event".
 */
export type RouterEvent =
  | { type: 'RouterTrained'; data: TrainedRouterData }
  | { type: 'RouterActivated'; data: { version: number; scope: RouterScope } }
  /** `version` is active again; null: none is. */
  | { type: 'RouterRolledBack'; data: { scope: RouterScope; from: number; version: number | null } }

/** The users whose requests a version is for. A group takes precedence over everyone. */
export type RouterScope = { readonly everyone: true } | { readonly groupId: number }

export type TrainedRouterData = {
  /** Counts the versions of all scopes from 1. */
  readonly version: number
  readonly scope: RouterScope
  /** By the catalogue's id of the model. */
  readonly models: Readonly<Record<string, TrainedModel>>
  /** How the version was judged. */
  readonly figures: JsonObject
  /** The ratings that it was trained from: how many, of which time. */
  readonly trainedFrom: JsonObject
  /** Identifies the key that words were hashed with. */
  readonly featureKeyId: string
  /** SHA-256 of `models` as JSON, in hex. */
  readonly checksum: string
}

export type TrainedModel = {
  /** Number of ratings of this model. */
  readonly ratings: number
  /** As the learner encodes them. */
  readonly weights: string
}

export const ROUTERS_STREAM = 'routers'

/** Below what a log takes in one append, with the figures and the metadata. */
export const MAX_ROUTER_BYTES = 900_000

/** Each takes a quarter of a megabyte in memory once it is decoded, in every process. */
export const MAX_ROUTER_MODELS = 128

/** Identifies a scope: `everyone`, or `group-{id}`. */
export function scopeName(scope: RouterScope): string {
  return 'everyone' in scope ? 'everyone' : `group-${scope.groupId}`
}
