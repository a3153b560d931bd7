import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Position } from '../../contract/event-log.ts'
import { HASH_BYTES, MerkleTree, type Subtree, subtreesOf } from './merkle-tree.ts'

export const HASHES_FILE = 'hashes'

export const POSITIONS_FILE = 'positions'

export const POSITION_BYTES = 8

/**
 * The Merkle tree of a log in two files: `hashes` has every leaf and complete subtree in the order in which
 * they were completed, `positions` the position of every leaf. Both are a cache. See
 * docs/decisions/evidence.md, "The tree is kept in files beside the snapshots".
 */
export class TreeFiles {
  readonly #folder: string
  readonly #hashes: FileHandle
  readonly #positions: FileHandle
  #tree = new MerkleTree()
  #lastPosition: Position = 0
  #pendingHashes: Buffer[] = []
  #pendingPositions: Position[] = []
  /** Leaves that are in the files. */
  #stored = 0

  private constructor(folder: string, hashes: FileHandle, positions: FileHandle) {
    this.#folder = folder
    this.#hashes = hashes
    this.#positions = positions
  }

  /** Opens the files in the folder, creating them if they are missing. */
  static async open(folder: string): Promise<TreeFiles> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // Opened without truncation and without O_APPEND, which would ignore the places of writes.
    const openFile = (name: string) => open(join(folder, name), OPEN_OR_CREATE, 0o600)
    const files = new TreeFiles(folder, await openFile(HASHES_FILE), await openFile(POSITIONS_FILE))
    await files.#load()
    return files
  }

  /** Leaves in the tree, including those that are not in the files yet. */
  get size(): number {
    return this.#tree.size
  }

  /** The position of the last leaf; 0 without one. */
  get lastPosition(): Position {
    return this.#lastPosition
  }

  root(): Buffer {
    return this.#tree.root()
  }

  append(position: Position, leafHash: Buffer): void {
    this.#pendingHashes.push(...this.#tree.append(leafHash))
    this.#pendingPositions.push(position)
    this.#lastPosition = position
  }

  /** Writes the appended leaves. Their positions follow once their hashes are on disk. */
  async flush(): Promise<void> {
    if (this.#pendingPositions.length === 0) return
    const hashes = Buffer.concat(this.#pendingHashes)
    const positions = encodePositions(this.#pendingPositions)
    const start = this.#stored
    this.#stored += this.#pendingPositions.length
    this.#pendingHashes = []
    this.#pendingPositions = []
    await this.#hashes.write(hashes, 0, hashes.length, leafOffset(start) * HASH_BYTES)
    await this.#hashes.datasync()
    await this.#positions.write(positions, 0, positions.length, start * POSITION_BYTES)
  }

  /** Reads the hash of a complete subtree of the stored leaves. */
  readonly readHash = async ({ level, index }: Subtree): Promise<Buffer> => {
    // A subtree is stored after its last leaf and the smaller subtrees that the leaf completes.
    const lastLeaf = (index + 1) * 2 ** level - 1
    return readExactly(this.#hashes, (leafOffset(lastLeaf) + level) * HASH_BYTES, HASH_BYTES)
  }

  /** The positions of the leaves from `start` to before `end`, as the big-endian bytes of the file. */
  readPositions(start: number, end: number): Promise<Buffer> {
    return readExactly(this.#positions, start * POSITION_BYTES, (end - start) * POSITION_BYTES)
  }

  async positionOf(index: number): Promise<Position> {
    return decodePosition(await this.readPositions(index, index + 1))
  }

  /** The index of the leaf at a position; undefined if no event was there. */
  async indexOf(position: Position): Promise<number | undefined> {
    let [low, high] = [0, this.#stored]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const found = await this.positionOf(middle)
      if (found === position) return middle
      if (found < position) low = middle + 1
      else high = middle
    }
    return undefined
  }

  close(): Promise<unknown> {
    return Promise.all([this.#hashes.close(), this.#positions.close()])
  }

  /** Closes and deletes the files. */
  async remove(): Promise<void> {
    await this.close()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #load(): Promise<void> {
    const size = Math.floor((await this.#positions.stat()).size / POSITION_BYTES)
    if (size === 0) return
    this.#tree = new MerkleTree(size, await Promise.all(subtreesOf(0, size).map(this.readHash)))
    this.#stored = size
    this.#lastPosition = await this.positionOf(size - 1)
  }
}

const OPEN_OR_CREATE = constants.O_RDWR | constants.O_CREAT

/** The number of hashes before a leaf: all leaves before it, all complete pairs of them, and so on. */
export function leafOffset(index: number): number {
  let count = 0
  for (let level = index; level > 0; level = Math.floor(level / 2)) count += level
  return count
}

/** Without `BigInt`: a verification reads millions of them. */
export function encodePositions(positions: readonly Position[]): Buffer {
  const bytes = Buffer.alloc(positions.length * POSITION_BYTES)
  for (const [index, position] of positions.entries()) {
    bytes.writeUInt32BE(Math.floor(position / UINT32), index * POSITION_BYTES)
    bytes.writeUInt32BE(position % UINT32, index * POSITION_BYTES + 4)
  }
  return bytes
}

/** Reads one position from the bytes of the file. */
export function decodePosition(bytes: Buffer): Position {
  return bytes.readUInt32BE(0) * UINT32 + bytes.readUInt32BE(4)
}

const UINT32 = 2 ** 32

async function readExactly(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  const { bytesRead } = await file.read(bytes, 0, length, offset)
  if (bytesRead < length) throw new Error('a file of the Merkle tree is shorter than its size')
  return bytes
}
