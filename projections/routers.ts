import type { Position } from '../core/contract/index.ts'
import {
  activationsIn,
  foldRouters,
  type RouterScope,
  type RouterVersion,
  type RouterVersions,
  type ScopeActivations,
  scopeName,
} from './events/routers.ts'
import type { SavedProjection } from './runtime/projection.ts'

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

type SavedLine =
  | { readonly revision: number; readonly activatedAt: Position; readonly active: ScopeActivations[] }
  | RouterVersion

export function createRouters(): Routers {
  const state: RouterVersions = { versions: new Map(), active: new Map(), activatedAt: 0 }
  const { versions, active } = state
  let revision = -1

  return {
    name: 'routers',
    apply(event, record) {
      if (!foldRouters.has(event)) return
      foldRouters(state, event, record)
      revision = record.revision
    },
    version: (version) => versions.get(version),
    versions: () => [...versions.values()],
    activations: () => [...active.values()],
    activationsOf: (scope) => activationsIn(state, scope),
    nextVersion: () => Math.max(0, ...versions.keys()) + 1,
    activatedAt: () => state.activatedAt,
    revision: () => revision,
    save: () =>
      serialize({ revision, activatedAt: state.activatedAt, active: [...active.values()] }, [
        ...versions.values(),
      ]),
    load(lines) {
      for (const line of lines) {
        const saved: SavedLine = JSON.parse(line.toString())
        if ('version' in saved) versions.set(saved.version, saved)
        else {
          revision = saved.revision
          state.activatedAt = saved.activatedAt
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
