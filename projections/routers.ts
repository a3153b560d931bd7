import type { JsonObject, Position, RecordedEvent } from '../core/contract/index.ts'
import {
  type RouterEvent,
  type RouterScope,
  scopeName,
  type TrainedModel,
  type TrainedRouterData,
} from '../core/events/router-events.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** A trained version of a router. Its weights stay encoded. */
export interface RouterVersion extends Omit<TrainedRouterData, 'models'> {
  readonly models: Readonly<Record<string, TrainedModel>>
  /** Whether the weights are kept, so that the version can be activated. */
  readonly isKept: boolean
  readonly trainedAt: string
  readonly position: Position
}

/** The versions that were active in a scope, oldest first. The last one is active; empty: none is. */
export interface ScopeActivations {
  readonly scope: RouterScope
  readonly versions: readonly number[]
}

/** All versions of learned routers, in memory. */
export interface Routers extends SavedProjection {
  version(version: number): RouterVersion | undefined
  /** Oldest first. */
  versions(): readonly RouterVersion[]
  /** Of the scopes that have a version that is or was active. */
  activations(): readonly ScopeActivations[]
  activationsOf(scope: RouterScope): readonly number[]
  /** Version that the next training gets. */
  nextVersion(): number
  /** Revision of the stream `routers`; -1 before the first version. */
  revision(): number
}

/** Per scope. The weights of older versions are dropped unless they were active lately. */
const KEPT_CANDIDATES = 4
const KEPT_ACTIVATIONS = 4

type SavedLine = { readonly revision: number; readonly active: ScopeActivations[] } | RouterVersion

export function createRouters(): Routers {
  /** Lists and objects in here are replaced, never modified: `save` may be reading them. */
  const versions = new Map<number, RouterVersion>()
  const active = new Map<string, ScopeActivations>()
  let revision = -1

  const activationsOf = (scope: RouterScope) => active.get(scopeName(scope))?.versions ?? []

  function evolve(event: RouterEvent, { position, metadata }: RecordedEvent): void {
    const { scope } = event.data
    switch (event.type) {
      case 'RouterTrained':
        // A version does not change, whatever another program writes: nodes may have loaded it.
        if (versions.has(event.data.version)) break
        versions.set(event.data.version, {
          ...event.data,
          isKept: true,
          trainedAt: metadata.time,
          position,
        })
        dropWeights(scope)
        break
      case 'RouterActivated': {
        const { version } = event.data
        const previous = activationsOf(scope).filter((other) => other !== version)
        setActive(scope, [...previous, version].slice(-KEPT_ACTIVATIONS))
        break
      }
      case 'RouterRolledBack': {
        const { from, version } = event.data
        const previous = activationsOf(scope).filter((other) => other !== from && other !== version)
        setActive(scope, version === null ? [] : [...previous, version])
        break
      }
      default:
        event satisfies never
    }
  }

  function setActive(scope: RouterScope, list: readonly number[]): void {
    active.set(scopeName(scope), { scope, versions: list })
    dropWeights(scope)
  }

  function dropWeights(scope: RouterScope): void {
    const name = scopeName(scope)
    const ofScope = [...versions.values()].filter((router) => scopeName(router.scope) === name)
    const activations = activationsOf(scope)
    for (const router of ofScope.slice(0, -KEPT_CANDIDATES))
      if (router.isKept && !activations.includes(router.version))
        versions.set(router.version, withoutWeights(router))
  }

  return {
    name: 'routers',
    apply(event, record) {
      if (!isRouterEvent(event)) return
      evolve(event, record)
      revision = record.revision
    },
    version: (version) => versions.get(version),
    versions: () => [...versions.values()],
    activations: () => [...active.values()],
    activationsOf,
    nextVersion: () => Math.max(0, ...versions.keys()) + 1,
    revision: () => revision,
    save: () => serialize({ revision, active: [...active.values()] }, [...versions.values()]),
    load(lines) {
      for (const line of lines) {
        const saved: SavedLine = JSON.parse(line.toString())
        if ('version' in saved) versions.set(saved.version, saved)
        else {
          revision = saved.revision
          for (const activations of saved.active) active.set(scopeName(activations.scope), activations)
        }
      }
    },
  }
}

function* serialize(state: SavedLine, versions: readonly RouterVersion[]): Generator<string> {
  yield JSON.stringify(state)
  for (const version of versions) yield JSON.stringify(version)
}

function isRouterEvent(event: { readonly type: string }): event is RouterEvent {
  return (
    event.type === 'RouterTrained' || event.type === 'RouterActivated' || event.type === 'RouterRolledBack'
  )
}

function withoutWeights(router: RouterVersion): RouterVersion {
  return { ...router, models: dropModelWeights(router.models), isKept: false }
}

/** What is shown of the models of a version: their weights are long. */
export function dropModelWeights(models: Readonly<Record<string, TrainedModel>>) {
  const entries = Object.entries(models).map(([id, { ratings }]) => [id, { ratings, weights: '' }] as const)
  return Object.fromEntries(entries)
}

/** What the audit trail shows of a `RouterTrained`. */
export function showTrainedData(data: JsonObject): JsonObject {
  const models = Object.entries(data.models as TrainedRouterData['models'])
  return { ...data, models: Object.fromEntries(models.map(([id, { ratings }]) => [id, { ratings }])) }
}
