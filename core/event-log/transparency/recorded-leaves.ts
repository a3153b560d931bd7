import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Position } from '../../contract/event-log.ts'
import { HASH_BYTES, MerkleTree } from './merkle-tree.ts'
import {
  decodePosition,
  HASHES_FILE,
  leafOffset,
  POSITION_BYTES,
  POSITIONS_FILE,
  REBUILT_SUFFIX,
  type RecordedLeafList,
  requireWholeTree,
} from './tree-files.ts'

const CHUNK_BYTES = 1024 * 1024

/** The leaves that a gateway has recorded in its tree files. For commands: it reads synchronously. */
export class RecordedLeaves implements RecordedLeafList {
  readonly #hashes: SequentialFile
  readonly #positions: SequentialFile
  readonly size: number

  private constructor(folder: string) {
    this.#hashes = new SequentialFile(join(folder, HASHES_FILE))
    this.#positions = new SequentialFile(join(folder, POSITIONS_FILE))
    this.size = Math.floor(this.#positions.size / POSITION_BYTES)
  }

  /** Returns undefined if the folder has no tree. Throws an `IncompleteTreeError`. */
  static open(folder: string): RecordedLeaves | undefined {
    requireWholeTree(folder)
    const exists = [HASHES_FILE, POSITIONS_FILE].every((name) => existsSync(join(folder, name)))
    return exists ? new RecordedLeaves(folder) : undefined
  }

  /** Returns undefined behind the last leaf. Fast if leaves are read in order. */
  hashOf(index: number): Buffer | undefined {
    return index < this.size ? this.#hashes.read(leafOffset(index) * HASH_BYTES, HASH_BYTES) : undefined
  }

  positionOf(index: number): Position | undefined {
    if (index >= this.size) return undefined
    const bytes = this.#positions.read(index * POSITION_BYTES, POSITION_BYTES)
    return bytes && decodePosition(bytes)
  }

  /** The root of the first leaves, computed from their hashes; undefined if there are fewer. */
  rootOf(size: number): Buffer | undefined {
    const tree = new MerkleTree()
    for (let index = 0; index < size; index++) {
      const hash = this.hashOf(index)
      if (hash === undefined) return undefined
      tree.append(Buffer.from(hash))
    }
    return tree.root()
  }

  close(): void {
    this.#hashes.close()
    this.#positions.close()
  }
}

/** The ids of the logs of which a folder has recorded leaves. */
export function listRecordedLogs(folder: string): readonly string[] {
  const names = existsSync(folder) ? readdirSync(folder) : []
  return names.filter((name) => {
    const { size = 0 } = statSync(join(folder, name, POSITIONS_FILE), { throwIfNoEntry: false }) ?? {}
    return size > 0 && !name.endsWith(REBUILT_SUFFIX)
  })
}

/** Reads small pieces of a file in rising order, in large chunks. */
class SequentialFile {
  readonly #file: number
  readonly size: number
  #chunk = Buffer.alloc(0)
  #start = 0

  constructor(path: string) {
    this.#file = openSync(path, 'r')
    this.size = fstatSync(this.#file).size
  }

  /** Returns undefined behind the end. The bytes are valid until the next call. */
  read(offset: number, length: number): Buffer | undefined {
    if (offset < this.#start || offset + length > this.#start + this.#chunk.length) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
      this.#chunk = chunk.subarray(0, readSync(this.#file, chunk, 0, CHUNK_BYTES, offset))
      this.#start = offset
    }
    const from = offset - this.#start
    return from + length <= this.#chunk.length ? this.#chunk.subarray(from, from + length) : undefined
  }

  close(): void {
    closeSync(this.#file)
  }
}
