import { createHash } from 'node:crypto'
import type { RecordedEvent } from '../../../core/contract/index.ts'
import { decodeEvent } from '../../../core/events/codec.ts'
import { createCooperativeYield } from '../../../core/time-slice.ts'
import { listProjections, type Projections } from '../../../projections/all.ts'
import { linesOf, type Snapshot } from '../../../projections/snapshots/format.ts'

/** Applies a record as the gateway does. One that cannot be read is left out: the checker has said so. */
export function applyTo(projections: Projections, record: RecordedEvent): void {
  const event = tryToDecode(record)
  if (event !== undefined)
    for (const projection of listProjections(projections)) projection.apply(event, record)
}

function tryToDecode(record: RecordedEvent) {
  try {
    return decodeEvent(record)
  } catch {
    return undefined
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

export async function digestOfParts(parts: Snapshot['parts']): Promise<string> {
  const hash = createHash('sha256')
  const slice = createCooperativeYield()
  for (const line of linesOf({ parts })) {
    hash.update(line).update('\n')
    if (slice.isDue()) await slice.yieldNow()
  }
  return hash.digest('hex')
}
