import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { Position, RecordedEvent } from '../../core/contract/index.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import type { Projections } from '../../projections/projections.ts'
import { listSaved } from '../../projections/projections.ts'
import { hashEvent } from '../../projections/runtime/check-log.ts'
import {
  listSnapshots,
  type Snapshot,
  type SnapshotHeader,
  snapshotLines,
} from '../../projections/snapshots/files.ts'
import { readSnapshot } from '../../projections/snapshots/restore.ts'

/** Compares snapshots with the state that the events produce. */
interface SnapshotChecker {
  /** Whether there are snapshots left that later events must lead to. */
  arePending(): boolean
  /** Call after each event that is applied. */
  compare(record: RecordedEvent, projections: Projections): Promise<void>
  facts(): readonly string[]
  issues(): readonly string[]
}

interface PendingSnapshot {
  readonly name: string
  readonly header: SnapshotHeader
  readonly hash: string
}

/** Reads the snapshots in the folder. Each must hold the state at its position. */
export async function checkSnapshots(folder: string): Promise<SnapshotChecker> {
  const pending = new Map<Position, PendingSnapshot>()
  const facts: string[] = []
  const issues: string[] = []
  for (const { path, isCurrent } of await listSnapshots(folder)) {
    const name = basename(path)
    if (!isCurrent) {
      facts.push(`Snapshot ${name} was written by another version and was not compared.`)
      continue
    }
    try {
      const { header, parts } = await readSnapshot(path)
      pending.set(header.position, { name, header, hash: await hashParts(parts) })
    } catch (error) {
      issues.push(`Snapshot ${name} is damaged: ${errorMessage(error)}.`)
    }
  }

  return {
    arePending: () => pending.size > 0,
    async compare(record, projections) {
      const saved = pending.get(record.position)
      if (saved === undefined) return
      pending.delete(record.position)
      if (saved.header.event !== hashEvent(record))
        issues.push(`Snapshot ${saved.name} belongs to another event log.`)
      else if (saved.hash !== (await hashState(projections)))
        issues.push(`Snapshot ${saved.name} does not match the events.`)
      else facts.push(`Snapshot ${saved.name} matches the events.`)
    },
    facts: () => facts,
    issues: () => [
      ...issues,
      ...[...pending.values()].map(({ name }) => `Snapshot ${name} belongs to another event log.`),
    ],
  }
}

/** A hash of the whole state. Equal states have equal hashes. */
function hashState(projections: Projections): Promise<string> {
  const parts = listSaved(projections).map((projection) => ({
    name: projection.name,
    lines: projection.save(),
  }))
  return hashParts(parts)
}

async function hashParts(parts: Snapshot['parts']): Promise<string> {
  const hash = createHash('sha256')
  const slice = createCooperativeYield()
  for (const line of snapshotLines({ parts })) {
    hash.update(line).update('\n')
    if (slice.isDue()) await slice.yieldNow()
  }
  return hash.digest('hex')
}
