import { hash } from 'node:crypto'

/** Length of the hashes of the Merkle tree, which is that of RFC 9162 and RFC 6962 with SHA-256. */
export const HASH_BYTES = 32

const LEAF_PREFIX = '\0'
const NODE_PREFIX = 1

/** The hash of a leaf. A text is hashed as UTF-8. */
export function hashLeaf(leaf: string | Buffer): Buffer {
  if (typeof leaf === 'string') return hash('sha256', LEAF_PREFIX + leaf, 'buffer')
  return hash('sha256', Buffer.concat([Buffer.from(LEAF_PREFIX), leaf]), 'buffer')
}

/** As `hashLeaf`, of a leaf behind the byte 0. */
export function hashPrefixedLeaf(bytes: Buffer): Buffer {
  return hash('sha256', bytes, 'buffer')
}

/** Reused, because a tree of a million leaves has a million nodes. */
const nodeBytes = Buffer.alloc(1 + 2 * HASH_BYTES, NODE_PREFIX)

function hashChildren(left: Buffer, right: Buffer): Buffer {
  left.copy(nodeBytes, 1)
  right.copy(nodeBytes, 1 + HASH_BYTES)
  return hash('sha256', nodeBytes, 'buffer')
}

/** Computes the root of a growing tree from the roots of its complete subtrees, one per bit of the size. */
export class MerkleTree {
  #size: number
  /** The largest subtree first. */
  readonly #roots: Buffer[]

  /** `roots` are those of the complete subtrees of the first `size` leaves, the largest first. */
  constructor(size = 0, roots: readonly Buffer[] = []) {
    this.#size = size
    this.#roots = [...roots]
  }

  get size(): number {
    return this.#size
  }

  /** Appends a leaf. Returns its hash and those of the subtrees that it completes, the smallest first. */
  append(leafHash: Buffer): readonly Buffer[] {
    const completed = [leafHash]
    let root = leafHash
    for (let rest = this.#size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
      root = hashChildren(this.#roots.pop() ?? root, root)
      completed.push(root)
    }
    this.#roots.push(root)
    this.#size += 1
    return completed
  }

  root(): Buffer {
    return combineRoots(this.#roots)
  }
}

/** The root over complete subtrees, the largest first. That of no subtree is the hash of nothing. */
function combineRoots(roots: readonly Buffer[]): Buffer {
  const [last, ...others] = roots.toReversed()
  if (last === undefined) return hash('sha256', '', 'buffer')
  return others.reduce((right, left) => hashChildren(left, right), last)
}

/** A complete subtree: all leaves below the node number `index` of a level. Leaves are on level 0. */
export interface Subtree {
  readonly level: number
  readonly index: number
}

/** The complete subtrees that make up the leaves from `start` to before `end`, the largest first. */
export function subtreesOf(start: number, end: number): readonly Subtree[] {
  const subtrees: Subtree[] = []
  for (let next = start; next < end; ) {
    let level = 0
    while (next % 2 ** (level + 1) === 0 && next + 2 ** (level + 1) <= end) level += 1
    subtrees.push({ level, index: next / 2 ** level })
    next += 2 ** level
  }
  return subtrees
}

/** Returns the hash of a complete subtree. */
type ReadHash = (subtree: Subtree) => Promise<Buffer>

/** The root of the tree over the first `size` leaves. */
export function readRoot(size: number, read: ReadHash): Promise<Buffer> {
  return hashLeaves(0, size, read)
}

/** The hashes that lead from a leaf to the root of the first `size` leaves (RFC 9162, 2.1.3). */
export async function buildInclusionProof(
  index: number,
  size: number,
  read: ReadHash,
): Promise<readonly Buffer[]> {
  const proof: Buffer[] = []
  for (let start = 0, end = size; end - start > 1; ) {
    const middle = start + splitOf(end - start)
    const isLeft = index < middle
    proof.unshift(await (isLeft ? hashLeaves(middle, end, read) : hashLeaves(start, middle, read)))
    if (isLeft) end = middle
    else start = middle
  }
  return proof
}

/** The root that a leaf and its proof lead to; undefined if the proof has the wrong length. */
export function rootOfInclusion(
  leafHash: Buffer,
  index: number,
  size: number,
  proof: readonly Buffer[],
): Buffer | undefined {
  if (index >= size) return undefined
  let [node, last, root] = [index, size - 1, leafHash]
  for (const sibling of proof) {
    if (last === 0) return undefined
    if (node % 2 === 1 || node === last) {
      root = hashChildren(sibling, root)
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)]
    } else root = hashChildren(root, sibling)
    ;[node, last] = [half(node), half(last)]
  }
  return last === 0 ? root : undefined
}

/** A tree, by its size and root. */
export interface TreeHead {
  readonly size: number
  readonly root: Buffer
}

async function hashLeaves(start: number, end: number, read: ReadHash): Promise<Buffer> {
  return combineRoots(await Promise.all(subtreesOf(start, end).map(read)))
}

/** The number of leaves of the left subtree: the largest power of two below `size`. */
function splitOf(size: number): number {
  let split = 1
  while (split * 2 < size) split *= 2
  return split
}

function half(value: number): number {
  return Math.floor(value / 2)
}
