import { createHash } from 'node:crypto'
import {
  type JsonObject,
  Nullable,
  type RecordedEvent,
  type Static,
  Type,
} from '../../core/contract/index.ts'
import { createFold, defineEvent, type EventOf, Id } from '../../core/events/define-event.ts'

/**
 * Changes to the learned routers, all in one stream. A version does not change, and at most one is active in
 * each scope. See docs/decisions/routing.md, "The weights of a version are in a stream of their own".
 */
export const ROUTERS_STREAM = 'routers'

/** The users whose requests a version is for. A group takes precedence over everyone. */
export type RouterScope = { readonly everyone: true } | { readonly groupId: number }

const scope = Type.Unsafe<RouterScope>(
  Type.Union([Type.Object({ everyone: Type.Literal(true) }), Type.Object({ groupId: Id })]),
)

const AnyObject = Type.Unsafe<JsonObject>(Type.Object({}))

/** By the catalogue's id of the model. */
const byModel = <Model>(model: object) =>
  Type.Unsafe<Readonly<Record<string, Model>>>({ type: 'object', additionalProperties: model })

const ratedModel = Type.Object({
  /** Number of ratings of this model. */
  ratings: Type.Integer(),
})

export type RatedModel = Readonly<Static<typeof ratedModel>>

const trainedModel = Type.Object({
  ...ratedModel.properties,
  /** As the learner encodes them. */
  weights: Type.String(),
})

export type TrainedModel = Readonly<Static<typeof trainedModel>>

const trainedModels = byModel<TrainedModel>(trainedModel)

export type TrainedModels = Static<typeof trainedModels>

const description = {
  /** Counts the versions of all scopes from 1. */
  version: Id,
  scope,
  /** How the version was judged. */
  figures: AnyObject,
  /** The ratings that it was trained from: how many, of which time. */
  trainedFrom: AnyObject,
  /** Identifies the key that words were hashed with. */
  featureKeyId: Type.String(),
  /** `checksumOf` the models with their weights. */
  checksum: Type.String(),
}

const versionData = Type.Object({
  ...description,
  /** The weights are in the stream `routerWeightsStream(checksum)`. */
  models: byModel<RatedModel>(ratedModel),
  /** Size of the event with the weights. */
  bytes: Type.Integer(),
  /**
   * Hash of the leaf of the event with the weights, in hex, by which the transparency log covers that event,
   * too.
   */
  weightsLeaf: Type.String(),
})

export type RouterVersionData = Readonly<Static<typeof versionData>>

/** A version with its weights. */
export type TrainedRouterData = Omit<RouterVersionData, 'models' | 'bytes' | 'weightsLeaf'> & {
  readonly models: TrainedModels
}

/** A trained version of a router, without its weights. */
export interface RouterVersion extends Omit<RouterVersionData, 'bytes' | 'weightsLeaf'> {
  readonly trainedAt: string
  readonly position: number
}

/** The versions that were active in a scope, oldest first. The last one is active; empty: none is. */
export interface ScopeActivations {
  readonly scope: RouterScope
  readonly versions: readonly number[]
}

/** All versions. What the maps hold is replaced, never modified: it may be being saved. */
export interface RouterVersions {
  readonly versions: Map<number, RouterVersion>
  /** By `scopeName`. */
  readonly active: Map<string, ScopeActivations>
  /** Position of the newest event that changed which versions are active; 0 before the first one. */
  activatedAt: number
}

/** How often the router of a scope can be rolled back. */
const KEPT_ACTIVATIONS = 4

export const routerEvents = [
  defineEvent({
    type: 'RouterTrained',
    schema: versionData,
    stream: ROUTERS_STREAM,
    audit: { kind: 'router', change: 'trained', id: 'version' },
    fold(routers: RouterVersions, { bytes: _, weightsLeaf: __, ...version }, { position, metadata }) {
      // A version does not change, whatever another program writes: nodes may have loaded it.
      if (!routers.versions.has(version.version))
        routers.versions.set(version.version, { ...version, trainedAt: metadata.time, position })
      return routers
    },
  }),
  defineEvent({
    type: 'RouterActivated',
    schema: Type.Object({ version: Id, scope }),
    stream: ROUTERS_STREAM,
    audit: { kind: 'router', change: 'activated', id: 'version' },
    fold(routers: RouterVersions, { version, scope }, { position }) {
      const previous = activationsIn(routers, scope).filter((other) => other !== version)
      if (routers.versions.has(version))
        setActive(routers, scope, [...previous, version].slice(-KEPT_ACTIVATIONS))
      routers.activatedAt = position
      return routers
    },
  }),
  /** `version` is active again; null: none is. */
  defineEvent({
    type: 'RouterRolledBack',
    schema: Type.Object({ scope, from: Type.Integer(), version: Nullable(Id) }),
    stream: ROUTERS_STREAM,
    audit: { kind: 'router', change: 'rolled_back', id: 'version' },
    fold(routers: RouterVersions, { scope, from, version }, { position }) {
      const previous = activationsIn(routers, scope).filter((other) => other !== from && other !== version)
      if (version === null) setActive(routers, scope, [])
      else if (routers.versions.has(version)) setActive(routers, scope, [...previous, version])
      routers.activatedAt = position
      return routers
    },
  }),
] as const

export function activationsIn(
  { active }: Pick<RouterVersions, 'active'>,
  scope: RouterScope,
): readonly number[] {
  return active.get(scopeName(scope))?.versions ?? []
}

function setActive({ active }: RouterVersions, scope: RouterScope, versions: readonly number[]): void {
  active.set(scopeName(scope), { scope, versions })
}

export type RouterEvent = EventOf<typeof routerEvents>

export const foldRouters = createFold<RouterEvent, RouterVersions>(routerEvents)

/**
 * Streams of weights: `{prefix}{checksum}`. Nobody follows them, so its name must not begin with that of a
 * followed stream, by which servers filter.
 */
export const ROUTER_WEIGHTS_PREFIX = 'router-weights-'

/** The only event in a stream of weights. It is read on demand, and not in the registry. */
export const RouterWeightsStored = defineEvent({
  type: 'RouterWeightsStored',
  schema: Type.Object({ models: trainedModels }),
  stream: ROUTER_WEIGHTS_PREFIX,
  audit: null,
})

export function routerWeightsStream(checksum: string): string {
  return ROUTER_WEIGHTS_PREFIX + checksum
}

/** The models with their weights that an event holds; undefined if it is none with weights. */
export function modelsOfWeights({ type, data, metadata }: RecordedEvent): TrainedModels | undefined {
  if (type !== RouterWeightsStored.type || metadata.schema !== 1) return undefined
  return RouterWeightsStored.hasValidData(data) ? data.models : undefined
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
