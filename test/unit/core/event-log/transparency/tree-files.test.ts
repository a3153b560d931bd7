import { truncate } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import {
  buildInclusionProof,
  hashLeaf,
  MerkleTree,
  readRoot,
  rootOfInclusion,
} from '../../../../../core/event-log/transparency/merkle-tree.ts'
import { TreeFiles } from '../../../../../core/event-log/transparency/tree-files.ts'
import { makeFolder } from '../../../../support/folders.ts'

const LEAVES = Array.from({ length: 75 }, (_, index) => hashLeaf(`event ${index}`))

/** The position of a leaf: with gaps, as on a server. */
const positionOf = (index: number) => (index + 1) * 1000

function appendAll(files: TreeFiles, from: number, to: number): void {
  for (const [offset, leaf] of LEAVES.slice(from, to).entries()) files.append(positionOf(from + offset), leaf)
}

describe('the files of a Merkle tree', () => {
  it('hold every subtree and position, after any number of flushes and openings', async () => {
    const folder = await makeFolder()
    const tree = new MerkleTree()
    for (let size = 0; size < LEAVES.length; size += 5) {
      const files = await TreeFiles.open(folder)
      expect(files.size).to.equal(size)
      expect(files.lastPosition).to.equal(size * 1000)
      for (const leaf of LEAVES.slice(size, size + 5)) tree.append(leaf)
      appendAll(files, size, size + 3)
      await files.flush()
      appendAll(files, size + 3, size + 5)
      await files.flush()
      expect(files.root()).to.deep.equal(tree.root())
      expect(await readRoot(files.size, files.readHash)).to.deep.equal(tree.root())
      await files.close()
    }
    const files = await TreeFiles.open(folder)
    for (const [index, leaf] of LEAVES.entries()) {
      expect(await files.indexOf(positionOf(index))).to.equal(index)
      const proof = await buildInclusionProof(index, files.size, files.readHash)
      expect(rootOfInclusion(leaf, index, files.size, proof)).to.deep.equal(tree.root())
    }
    expect(await files.indexOf(1001)).to.equal(undefined)
    expect(await files.indexOf(positionOf(LEAVES.length))).to.equal(undefined)
    await files.close()
  })

  it('are the same after two writers', async () => {
    const folder = await makeFolder()
    const [first, second] = [await TreeFiles.open(folder), await TreeFiles.open(folder)]
    appendAll(first, 0, 40)
    appendAll(second, 0, 20)
    await Promise.all([first.flush(), second.flush()])
    appendAll(second, 20, 75)
    await second.flush()
    await Promise.all([first.close(), second.close()])

    const files = await TreeFiles.open(folder)
    const tree = new MerkleTree()
    for (const leaf of LEAVES) tree.append(leaf)
    expect(files.root()).to.deep.equal(tree.root())
    await files.close()
  })

  it('end with the last complete position', async () => {
    const folder = await makeFolder()
    const files = await TreeFiles.open(folder)
    appendAll(files, 0, 10)
    await files.flush()
    await files.close()
    await truncate(path.join(folder, 'positions'), 8 * 6 + 3)

    const shortened = await TreeFiles.open(folder)
    expect(shortened.size).to.equal(6)
    appendAll(shortened, 6, 75)
    await shortened.flush()
    expect(await readRoot(75, shortened.readHash)).to.deep.equal(shortened.root())
    await shortened.close()
  })
})
