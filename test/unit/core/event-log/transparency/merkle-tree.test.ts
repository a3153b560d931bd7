import { expect } from 'chai'
import {
  buildInclusionProof,
  hashLeaf,
  MerkleTree,
  readRoot,
  rootOfInclusion,
  type Subtree,
  subtreesOf,
} from '../../../../../core/event-log/transparency/merkle-tree.ts'

/** The leaves and results of the reference implementation of Certificate Transparency. */
const LEAVES = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
].map((hex) => hashLeaf(Buffer.from(hex, 'hex')))

const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

const [A, B, C, D, E] = [
  '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
  '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
  '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
  'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
  'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
]

const INCLUSION: readonly (readonly [index: number, size: number, proof: readonly string[]])[] = [
  [0, 1, []],
  [0, 8, [A, B, C]],
  [5, 8, [D, E, ROOTS[4] ?? '']],
  [2, 3, [ROOTS[2] ?? '']],
  [1, 5, [ROOTS[1] ?? '', B, D]],
]

const toHex = (hashes: readonly Buffer[]) => hashes.map((hash) => hash.toString('hex'))

/** Reads subtrees of the leaves `n`, of any number. */
function treeOf(leaves: readonly Buffer[]) {
  const read = async ({ level, index }: Subtree) => {
    const tree = new MerkleTree()
    for (const leaf of leaves.slice(index * 2 ** level, (index + 1) * 2 ** level)) tree.append(leaf)
    expect(tree.size).to.equal(2 ** level)
    return tree.root()
  }
  return read
}

describe('the Merkle tree', () => {
  it('has the roots of the reference implementation', () => {
    const tree = new MerkleTree()
    const roots = [tree.root()]
    for (const leaf of LEAVES) {
      tree.append(leaf)
      roots.push(tree.root())
    }
    expect(toHex(roots)).to.deep.equal(ROOTS)
  })

  it('builds the inclusion proofs of the reference implementation', async () => {
    for (const [index, size, expected] of INCLUSION)
      expect(toHex(await buildInclusionProof(index, size, treeOf(LEAVES)))).to.deep.equal(expected)
  })

  it('goes on from saved subtrees', () => {
    const whole = new MerkleTree()
    for (const [size, leaf] of LEAVES.entries()) {
      whole.append(leaf)
      const roots = subtreesOf(0, size + 1).map(({ level, index }) => {
        const subtree = new MerkleTree()
        for (const each of LEAVES.slice(index * 2 ** level, (index + 1) * 2 ** level)) subtree.append(each)
        return subtree.root()
      })
      const resumed = new MerkleTree(size + 1, roots)
      for (const each of LEAVES.slice(size + 1)) resumed.append(each)
      expect(resumed.root().toString('hex')).to.equal(ROOTS[8])
    }
  })
})

describe('proofs over trees of all sizes up to 40', () => {
  const leaves = Array.from({ length: 40 }, (_, index) => hashLeaf(`event ${index}`))
  const read = treeOf(leaves)
  const other = hashLeaf('another event')

  it('of inclusion lead to the root, and to no other with a changed leaf, index, hash or length', async () => {
    for (let size = 1; size <= leaves.length; size++) {
      const root = await readRoot(size, read)
      for (let index = 0; index < size; index++) {
        const proof = await buildInclusionProof(index, size, read)
        const leaf = leaves[index] ?? other
        const leadsToRoot = (...args: Parameters<typeof rootOfInclusion>) =>
          rootOfInclusion(...args)?.equals(root) ?? false
        expect(leadsToRoot(leaf, index, size, proof)).to.equal(true)
        expect(leadsToRoot(other, index, size, proof)).to.equal(false)
        expect(leadsToRoot(leaf, (index + 1) % (size + 1), size, proof)).to.equal(false)
        expect(leadsToRoot(leaf, index, size, [...proof, other])).to.equal(false)
        if (proof.length === 0) continue
        expect(leadsToRoot(leaf, index, size, proof.slice(1))).to.equal(false)
        const changed = proof.with(index % proof.length, other)
        expect(leadsToRoot(leaf, index, size, changed)).to.equal(false)
      }
    }
  })
})
