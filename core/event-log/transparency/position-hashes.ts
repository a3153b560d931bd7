import { createHash } from 'node:crypto'
import type { Position } from '../../contract/event-log.ts'
import { encodePositions } from './tree-files.ts'

const BATCH = 1024

/** Hashes the positions of events in log order, as checkpoints do. */
export interface PositionHashes {
  add(position: Position): void
  /** The hash of the positions up to a size since the one before it, in hex; undefined before that size. */
  of(size: number): string | undefined
}

/** `ends` are the sizes of the checkpoints. */
export function createPositionHashes(ends: ReadonlySet<number>): PositionHashes {
  const hashes = new Map<number, string>()
  let hash = createHash('sha256')
  let batch: Position[] = []
  let size = 0

  return {
    add(position) {
      batch.push(position)
      size += 1
      if (batch.length < BATCH && !ends.has(size)) return
      hash.update(encodePositions(batch))
      batch = []
      if (!ends.has(size)) return
      hashes.set(size, hash.digest('hex'))
      hash = createHash('sha256')
    },
    of: (end) => hashes.get(end),
  }
}
