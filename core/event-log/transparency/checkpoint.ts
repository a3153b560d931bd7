import type { KeyObject } from 'node:crypto'
import { HASH_BYTES } from './merkle-tree.ts'
import type { TreeHead } from './proofs.ts'
import { decodeBase64, parseNote, type SignedNote, signNote } from './signed-note.ts'

/** The tree of a log at one size, as a C2SP tlog-checkpoint. */
export interface Checkpoint extends TreeHead {
  /** Names the log; also the name of the key that signs. */
  readonly origin: string
}

/** A checkpoint with the note that it was read from. */
export interface SignedCheckpoint extends Checkpoint {
  readonly note: SignedNote
}

/** The origin of the checkpoints of a log with this id. */
export function originOf(logId: string): string {
  return `signalbox/${logId}`
}

/** Returns a signed note. */
export function signCheckpoint({ origin, size, root }: Checkpoint, privateKey: KeyObject): string {
  return signNote(`${origin}\n${size}\n${root.toString('base64')}\n`, origin, privateKey)
}

/** Returns undefined for a text that is not a signed checkpoint. Signatures are not verified. */
export function parseCheckpoint(text: string): SignedCheckpoint | undefined {
  const note = parseNote(text)
  const [origin, size = '', encodedRoot = ''] = note?.text.split('\n') ?? []
  const root = decodeBase64(encodedRoot)
  if (note === undefined || !origin || !/^(0|[1-9]\d{0,14})$/.test(size)) return undefined
  return root?.length === HASH_BYTES ? { origin, size: Number(size), root, note } : undefined
}
