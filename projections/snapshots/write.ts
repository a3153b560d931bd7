import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { replaceFile } from '../../core/util/replace-file.ts'
import { snapshotName } from './folder.ts'
import { type Snapshot, snapshotLines } from './format.ts'

const BATCH_BYTES = 256 * 1024

/** How long writing may block the event loop at a time, in milliseconds. */
const SLICE_MS = 2

/**
 * Writes a snapshot atomically: under its name, the file is either complete or absent. Resolves with its
 * path. See docs/decisions/event-log.md, "A snapshot is consistent although writing it takes seconds".
 */
export async function writeSnapshot(folder: string, snapshot: Snapshot): Promise<string> {
  const path = join(folder, snapshotName(snapshot.header.position, snapshot.header.shape))
  await replaceFile(path, (file) => writeLines(file, snapshot))
  return path
}

async function writeLines(file: FileHandle, snapshot: Snapshot): Promise<void> {
  const hash = createHash('sha256')
  const slice = createCooperativeYield(SLICE_MS)
  const batch = Buffer.allocUnsafeSlow(BATCH_BYTES)
  let used = 0

  async function writeBytes(bytes: Buffer): Promise<void> {
    hash.update(bytes)
    await file.writeFile(bytes)
  }
  async function flush(): Promise<void> {
    await writeBytes(batch.subarray(0, used))
    used = 0
  }
  async function writeLine(line: string | Buffer): Promise<void> {
    const bytes = Buffer.byteLength(line) + 1
    if (used + bytes > BATCH_BYTES) await flush()
    if (bytes > BATCH_BYTES) return writeBytes(Buffer.from(`${line}\n`))
    used += typeof line === 'string' ? batch.write(line, used) : line.copy(batch, used)
    used += batch.write('\n', used)
  }

  await writeLine(JSON.stringify(snapshot.header))
  for (const line of snapshotLines(snapshot)) {
    await writeLine(line)
    if (slice.isDue()) await slice.yieldNow()
  }
  await flush()
  await file.writeFile(`${hash.digest('hex')}\n`)
}
