import { childrenOf, type Node } from './syntax.ts'

/** A name for every group that is written, by the number PCRE gives it; after a branch reset a number has several. */
export function nameGroups(root: Node): ReadonlyMap<number, readonly string[]> {
  const names = new Map<number, string[]>()
  addNames(root, names)
  return names
}

function addNames(node: Node, names: Map<number, string[]>): void {
  if (node.type === 'capture') {
    const taken = names.get(node.index) ?? []
    names.set(node.index, [...taken, `group${node.index}_${taken.length}`])
  }
  for (const child of childrenOf(node)) addNames(child, names)
}
