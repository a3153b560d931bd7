import { type Checkpoint, parseCheckpoint, type SignedCheckpoint } from './checkpoint.ts'
import { HASH_BYTES, hashLeaf } from './merkle-tree.ts'
import { rootOfInclusion } from './proofs.ts'
import { decodeBase64 } from './signed-note.ts'

/** The fields of a proof that are checked. */
export interface ProofToCheck {
  readonly index: number
  readonly leaf: string
  readonly hashes: readonly string[]
  readonly checkpoint: string
}

/**
 * Checks that the leaf is in the tree of the checkpoint, and that `accepts` holds for the signed checkpoint.
 * Returns the checkpoint, or what is wrong, as a sentence.
 */
export function checkProof(
  { index, leaf, hashes: encoded, checkpoint: text }: ProofToCheck,
  accepts: (checkpoint: SignedCheckpoint) => boolean,
): Checkpoint | string {
  const checkpoint = parseCheckpoint(text)
  if (checkpoint === undefined) return 'The checkpoint is not a signed note over a tree.'
  if (!accepts(checkpoint)) return 'The checkpoint was not signed with the key.'
  const hashes = encoded.map(decodeBase64).filter((bytes) => bytes?.length === HASH_BYTES)
  if (hashes.length < encoded.length) return 'A hash of the proof is not 32 bytes in base64.'
  const root = rootOfInclusion(hashLeaf(leaf), index, checkpoint.size, hashes as Buffer[])
  return root?.equals(checkpoint.root)
    ? checkpoint
    : 'The leaf and the hashes do not lead to the root of the checkpoint.'
}
