import { createHash } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Position, RecordedEvent } from '../../core/contract/index.ts'
import { SCHEMA_VERSION } from '../../core/events/codec.ts'
import { EVENTS } from '../events/registry.ts'
import { type EventReference, toEventReference } from '../runtime/check-log.ts'
import type { SavedState } from '../runtime/projection.ts'

/**
 * Version of how projections fold events and save their state. Must be increased when either changes; a test
 * compares the saved state with a fixture.
 */
export const STATE_SHAPE = 14

/**
 * The first line of a snapshot: the shape of its state, and the log and its newest event, which it belongs
 * to. It is
 * followed by a line `#name` and the saved lines for each projection. The last line is the SHA-256 of all
 * bytes before it.
 */
export interface SnapshotHeader extends EventReference {
  readonly shape: string
  /** Id of the event log. */
  readonly log: string
}

/** The state at one position. Its lines are produced during iteration. */
export interface Snapshot {
  readonly header: SnapshotHeader
  readonly parts: readonly { readonly name: string; readonly lines: Iterable<string | Buffer> }[]
}

/** Takes a snapshot of the state after `newest`. Must be called before the next event is applied. */
export function takeSnapshot(
  log: string,
  newest: RecordedEvent,
  projections: readonly SavedState[],
): Snapshot {
  return {
    header: { shape: stateShape(), log, ...toEventReference(newest) },
    parts: projections.map((projection) => ({ name: projection.name, lines: projection.save() })),
  }
}

/**
 * Identifies the code that folded a state. Includes the known event types: code that did not know a type
 * skipped its events. See docs/decisions/event-log.md, "The known event types are part of a snapshot's
 * version".
 */
function stateShape(): string {
  const facts = JSON.stringify([STATE_SHAPE, SCHEMA_VERSION, EVENTS.types])
  return createHash('sha256').update(facts).digest('hex').slice(0, 16)
}

/** Yields all lines after the header. Equal states yield equal lines. */
export function* snapshotLines({ parts }: Pick<Snapshot, 'parts'>): Generator<string | Buffer> {
  for (const { name, lines } of parts) {
    yield `#${name}`
    yield* lines
  }
}

/** A snapshot file, described by its name, `{position}-{shape}.snapshot`. */
interface SnapshotFile {
  readonly path: string
  readonly position: Position
  /** Whether its state has the shape of this version's projections. */
  readonly isCurrent: boolean
}

const NAME = /^(\d{1,16})-([0-9a-f]{16})\.snapshot$/

export function snapshotName(position: Position, shape: string): string {
  return `${position}-${shape}.snapshot`
}

/**
 * Lists the snapshots in the folder, highest position first. Returns an empty list if the folder does not
 * exist.
 */
export async function listSnapshots(folder: string): Promise<readonly SnapshotFile[]> {
  const names = await readdir(folder).catch(() => [])
  const files = names.flatMap((name) => {
    const [, position, shape] = NAME.exec(name) ?? []
    if (position === undefined) return []
    return { path: join(folder, name), position: Number(position), isCurrent: shape === stateShape() }
  })
  return files.sort((a, b) => b.position - a.position)
}

/** Two, because the newest may turn out to be damaged. */
const KEPT_SNAPSHOTS = 2

/** Age after which an unfinished file must be left over from a killed process: no write takes this long. */
const ABANDONED_MS = 3_600_000

/**
 * Deletes all snapshots except the two that were written last, and abandoned unfinished files. Sorts by time,
 * not by position: if the folder was moved to another log, positions of the previous log are meaningless.
 */
export async function sweepSnapshots(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name) || name.endsWith('.tmp'))
  const files = await Promise.all(names.map((name) => readAge(join(folder, name))))
  const snapshots = files.filter(({ path }) => !path.endsWith('.tmp')).sort((a, b) => a.ageMs - b.ageMs)
  const abandoned = files.filter(({ path, ageMs }) => path.endsWith('.tmp') && ageMs > ABANDONED_MS)
  const obsolete = [...snapshots.slice(KEPT_SNAPSHOTS), ...abandoned]
  await Promise.all(obsolete.map(({ path }) => rm(path, { force: true })))
}

/** Reads the time since the last write. Returns an age of 0 for a file that another process has deleted. */
async function readAge(path: string): Promise<{ path: string; ageMs: number }> {
  const stats = await stat(path).catch(() => undefined)
  return { path, ageMs: stats ? Date.now() - stats.mtimeMs : 0 }
}
