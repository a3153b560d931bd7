import type { Position, RecordedEvent } from '../core/contract/index.ts'
import {
  type RouterEvent,
  type RouterScope,
  type RouterVersionData,
  scopeName,
} from '../core/events/router-events.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** A trained version of a router, without its weights. */
export interface RouterVersion extends Omit<RouterVersionData, 'bytes' | 'weightsLeaf'> {
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
  /** Position of the newest event that changed which versions are active; 0 before the first one. */
  activatedAt(): Position
  /** Revision of the stream `routers`; -1 before the first version. */
  revision(): number
}

/** How often the router of a scope can be rolled back. */
const KEPT_ACTIVATIONS = 4

type SavedLine =
  | { readonly revision: number; readonly activatedAt: Position; readonly active: ScopeActivations[] }
  | RouterVersion

export function createRouters(): Routers {
  /** Lists and objects in here are replaced, never modified: `save` may be reading them. */
  const versions = new Map<number, RouterVersion>()
  const active = new Map<string, ScopeActivations>()
  let revision = -1
  let activatedAt: Position = 0

  const activationsOf = (scope: RouterScope) => active.get(scopeName(scope))?.versions ?? []

  function evolve(event: RouterEvent, record: RecordedEvent): void {
    const { scope } = event.data
    switch (event.type) {
      case 'RouterTrained':
        // A version does not change, whatever another program writes: nodes may have loaded it.
        if (!versions.has(event.data.version)) versions.set(event.data.version, toVersion(event.data, record))
        break
      case 'RouterActivated': {
        const { version } = event.data
        if (!versions.has(version)) break
        const previous = activationsOf(scope).filter((other) => other !== version)
        setActive(scope, [...previous, version].slice(-KEPT_ACTIVATIONS))
        break
      }
      case 'RouterRolledBack': {
        const { from, version } = event.data
        if (version !== null && !versions.has(version)) break
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
  }

  return {
    name: 'routers',
    apply(event, record) {
      if (!isRouterEvent(event)) return
      evolve(event, record)
      if (event.type === 'RouterActivated' || event.type === 'RouterRolledBack') activatedAt = record.position
      revision = record.revision
    },
    version: (version) => versions.get(version),
    versions: () => [...versions.values()],
    activations: () => [...active.values()],
    activationsOf,
    nextVersion: () => Math.max(0, ...versions.keys()) + 1,
    activatedAt: () => activatedAt,
    revision: () => revision,
    save: () => serialize({ revision, activatedAt, active: [...active.values()] }, [...versions.values()]),
    load(lines) {
      for (const line of lines) {
        const saved: SavedLine = JSON.parse(line.toString())
        if ('version' in saved) versions.set(saved.version, saved)
        else {
          revision = saved.revision
          activatedAt = saved.activatedAt
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
  switch (event.type as RouterEvent['type']) {
    case 'RouterTrained':
    case 'RouterActivated':
    case 'RouterRolledBack':
      return true
    default:
      return false
  }
}

function toVersion(
  { bytes: _, weightsLeaf: __, ...version }: RouterVersionData,
  { position, metadata }: RecordedEvent,
): RouterVersion {
  return { ...version, trainedAt: metadata.time, position }
}
