import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { Snapshot, SnapshotHeader } from './format.ts'

/** A snapshot as it stands in a file. */
export interface SavedSnapshot extends Snapshot {
  readonly parts: readonly { readonly name: string; readonly lines: Iterable<Buffer> }[]
}

const HASH_BYTES = 65

/** Reads a snapshot; throws when it is not as it was written. */
export async function readSnapshot(path: string): Promise<SavedSnapshot> {
  const bytes = await readWhole(path)
  const content = bytes.subarray(0, Math.max(0, bytes.length - HASH_BYTES))
  const hash = bytes.subarray(content.length).toString('latin1').trimEnd()
  if (createHash('sha256').update(content).digest('hex') !== hash)
    throw new Error('its content does not match its hash')
  const header: SnapshotHeader = JSON.parse(content.toString('utf8', 0, content.indexOf('\n')))
  return { header, parts: findParts(content) }
}

/** `readFile` takes 2 GiB at most. */
async function readWhole(path: string): Promise<Buffer> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const bytes = Buffer.allocUnsafeSlow(size)
    for (let at = 0; at < size; ) {
      const { bytesRead } = await file.read(bytes, at, Math.min(size - at, READ_BYTES))
      if (bytesRead === 0) throw new Error('it became shorter while it was read')
      at += bytesRead
    }
    return bytes
  } finally {
    await file.close()
  }
}

const READ_BYTES = 64 * 1024 * 1024

function findParts(content: Buffer): SavedSnapshot['parts'] {
  const parts = []
  for (let start = content.indexOf('\n#'); start !== -1; ) {
    const lines = content.indexOf('\n', start + 1) + 1
    const end = content.indexOf('\n#', lines - 1)
    const name = content.toString('utf8', start + 2, lines - 1)
    parts.push({ name, lines: splitLines(content.subarray(lines, end === -1 ? content.length : end + 1)) })
    start = end
  }
  return parts
}

function* splitLines(text: Buffer): Generator<Buffer> {
  let from = 0
  for (let to = text.indexOf('\n'); to !== -1; to = text.indexOf('\n', from)) {
    yield text.subarray(from, to)
    from = to + 1
  }
}
