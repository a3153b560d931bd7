import { constants, statSync } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Position } from '../../contract/event-log.ts'
import { HASH_BYTES, MerkleTree, type Subtree, subtreesOf } from './merkle-tree.ts'

export const HASHES_FILE = 'hashes'

export const POSITIONS_FILE = 'positions'

export const POSITION_BYTES = 8

/** Ends the name of the folder of a tree that is built to replace another one. */
export const REBUILT_SUFFIX = '.rebuilt'

/** Hashes and positions of events, in log order, as they were recorded. */
export interface RecordedLeafList {
  readonly size: number
  /** Returns undefined behind the last leaf. */
  hashOf(index: number): Buffer | undefined
  positionOf(index: number): Position | undefined
}

/**
 * The Merkle tree of a log in two files: `hashes` has every leaf and complete subtree in the order in which
 * they were completed, `positions` the position of every leaf. Both are compared with the log at a start. See
 * docs/decisions/evidence.md, "The tree is kept in files beside the snapshots".
 */
export class TreeFiles {
  #folder: string
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

  /** Opens the files in the folder, creating them if both are missing. */
  static async open(folder: string): Promise<TreeFiles> {
    requireWholeTree(folder)
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

  /**
   * Writes the appended leaves to the disk. Their positions follow once their hashes are there. After an
   * error, such as a full disk, the next call writes them.
   */
  async flush(): Promise<void> {
    const count = this.#pendingPositions.length
    if (count === 0) return
    const hashCount = this.#pendingHashes.length
    const start = this.#stored
    await writeAll(this.#hashes, Buffer.concat(this.#pendingHashes), leafOffset(start) * HASH_BYTES)
    await writeAll(this.#positions, encodePositions(this.#pendingPositions), start * POSITION_BYTES)
    this.#stored += count
    this.#pendingHashes.splice(0, hashCount)
    this.#pendingPositions.splice(0, count)
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

  /** Reads the leaves from `start` to before `end`, and numbers them from 0. */
  async readLeaves(start: number, end: number): Promise<RecordedLeafList> {
    const positions = await this.readPositions(start, end)
    const hashes: Buffer[] = []
    for (let index = start; index < end; index++) hashes.push(await this.readHash({ level: 0, index }))
    return {
      size: end - start,
      hashOf: (index) => hashes[index],
      positionOf: (index) =>
        index < hashes.length ? decodePosition(positions.subarray(index * POSITION_BYTES)) : undefined,
    }
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

  /** Deletes the files of another tree, and puts these in their place. */
  async replace(other: TreeFiles): Promise<void> {
    await other.remove()
    await rename(this.#folder, other.#folder)
    this.#folder = other.#folder
  }

  async #load(): Promise<void> {
    const size = Math.floor((await this.#positions.stat()).size / POSITION_BYTES)
    if (size === 0) return
    this.#tree = new MerkleTree(size, await Promise.all(subtreesOf(0, size).map(this.readHash)))
    this.#stored = size
    this.#lastPosition = await this.positionOf(size - 1)
  }
}

/** Files of a tree that no crash leaves: one of them was deleted or cut off. */
export class IncompleteTreeError extends Error {
  constructor(folder: string) {
    const tree = `transparency/${basename(folder)}`
    super(`The recorded hashes in ${tree} are not complete: a file was deleted or cut off.`)
    this.name = 'IncompleteTreeError'
  }
}

/** Throws an `IncompleteTreeError`. Positions are written once the hashes before them are on disk. */
export function requireWholeTree(folder: string): void {
  const sizeOf = (name: string) => statSync(join(folder, name), { throwIfNoEntry: false })?.size
  const [hashes, positions] = [sizeOf(HASHES_FILE), sizeOf(POSITIONS_FILE)]
  const leaves = Math.floor((positions ?? 0) / POSITION_BYTES)
  const isLost = positions === undefined && (hashes ?? 0) > 0
  if (isLost || (hashes ?? 0) < leafOffset(leaves) * HASH_BYTES) throw new IncompleteTreeError(folder)
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

async function writeAll(file: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, offset + written)
    written += bytesWritten
  }
  await file.datasync()
}

async function readExactly(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  const { bytesRead } = await file.read(bytes, 0, length, offset)
  if (bytesRead < length) throw new Error('a file of the Merkle tree is shorter than its size')
  return bytes
}
