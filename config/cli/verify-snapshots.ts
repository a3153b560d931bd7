import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { Position, RecordedEvent } from '../../core/contract/index.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import type { Projections } from '../../projections/projections.ts'
import { listProjections } from '../../projections/projections.ts'
import { listSnapshots } from '../../projections/snapshots/folder.ts'
import type { Snapshot } from '../../projections/snapshots/format.ts'
import { hashEvent, type SnapshotHeader, snapshotLines } from '../../projections/snapshots/format.ts'
import { readSnapshot } from '../../projections/snapshots/restore.ts'

/** Compares snapshots with what the events lead to. */
interface SnapshotChecker {
  /** To be called after each event. */
  compare(record: RecordedEvent, projections: Projections): Promise<void>
  facts(): readonly string[]
  faults(): readonly string[]
}

interface Saved {
  readonly name: string
  readonly header: SnapshotHeader
  readonly digest: string
}

/** Reads the snapshots in the folder; each has to hold the state at its position. */
export async function checkSnapshots(folder: string): Promise<SnapshotChecker> {
  const waiting = new Map<Position, Saved>()
  const facts: string[] = []
  const faults: string[] = []
  for (const { path, isCurrent } of await listSnapshots(folder)) {
    const name = basename(path)
    if (!isCurrent) {
      facts.push(`Snapshot ${name} is of another version and was not compared.`)
      continue
    }
    try {
      const { header, parts } = await readSnapshot(path)
      waiting.set(header.position, { name, header, digest: await digestOfParts(parts) })
    } catch (error) {
      faults.push(`Snapshot ${name} is damaged: ${errorMessage(error)}.`)
    }
  }

  return {
    async compare(record, projections) {
      const saved = waiting.get(record.position)
      if (saved === undefined) return
      waiting.delete(record.position)
      if (saved.header.event !== hashEvent(record))
        faults.push(`Snapshot ${saved.name} belongs to another event log.`)
      else if (saved.digest !== (await digestOf(projections)))
        faults.push(`Snapshot ${saved.name} is not the state that the events lead to.`)
      else facts.push(`Snapshot ${saved.name} is the state that the events lead to.`)
    },
    facts: () => facts,
    faults: () => [
      ...faults,
      ...[...waiting.values()].map(({ name }) => `Snapshot ${name} belongs to another event log.`),
    ],
  }
}

/** A hash of the whole state; the same for the same state. */
export function digestOf(projections: Projections): Promise<string> {
  const parts = listProjections(projections).map((projection) => ({
    name: projection.name,
    lines: projection.save(),
  }))
  return digestOfParts(parts)
}

async function digestOfParts(parts: Snapshot['parts']): Promise<string> {
  const hash = createHash('sha256')
  const slice = createCooperativeYield()
  for (const line of snapshotLines({ parts })) {
    hash.update(line).update('\n')
    if (slice.isDue()) await slice.yieldNow()
  }
  return hash.digest('hex')
}
