import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Position } from '../../core/contract/index.ts'
import { stateShape } from './format.ts'

/** A snapshot by its name, `{position}-{shape}.snapshot`. */
interface SnapshotFile {
  readonly path: string
  readonly position: Position
  /** Whether this code could have written it. */
  readonly isCurrent: boolean
}

const NAME = /^(\d{1,16})-([0-9a-f]{16})\.snapshot$/

export function snapshotName(position: Position, shape: string): string {
  return `${position}-${shape}.snapshot`
}

/** The snapshots in the folder, newest first; none when there is no folder. */
export async function listSnapshots(folder: string): Promise<readonly SnapshotFile[]> {
  const names = await readdir(folder).catch(() => [])
  const files = names.flatMap((name) => {
    const [, position, shape] = NAME.exec(name) ?? []
    if (position === undefined) return []
    return { path: join(folder, name), position: Number(position), isCurrent: shape === stateShape() }
  })
  return files.sort((a, b) => b.position - a.position)
}

/** The newest can turn out to be damaged. */
const KEPT = 2

/** What a process that was killed while writing left behind; nothing takes that long to write. */
const ABANDONED_MS = 3_600_000

/**
 * Removes all but the two that were written last, and what was never finished. By time and not by position: where the folder came
 * to another log, the old one's positions mean nothing.
 */
export async function sweepSnapshots(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name) || name.endsWith('.tmp'))
  const files = await Promise.all(names.map((name) => readAge(join(folder, name))))
  const snapshots = files.filter(({ path }) => !path.endsWith('.tmp')).sort((a, b) => a.age - b.age)
  const abandoned = files.filter(({ path, age }) => path.endsWith('.tmp') && age > ABANDONED_MS)
  await Promise.all([...snapshots.slice(KEPT), ...abandoned].map(({ path }) => rm(path, { force: true })))
}

/** Milliseconds since it was written; that of a file which somebody else has removed is 0. */
async function readAge(path: string) {
  const found = await stat(path).catch(() => undefined)
  return { path, age: found ? Date.now() - found.mtimeMs : 0 }
}
