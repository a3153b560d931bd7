import { childrenOf, type Node, type SetItem } from './ast.ts'

/** Counts the nodes of a pattern with its repetitions unrolled, which bounds the size of its automaton. */
export function countPositions(node: Node): number {
  return sumUnrolled(node, () => 1)
}

/** Estimates how long RE2 takes to compile a pattern, in units of half a microsecond. */
export function estimateRe2CompileCost(node: Node): number {
  return sumUnrolled(node, re2NodeCost)
}

/** A Unicode property expands to hundreds of ranges; an optional item makes RE2 look further ahead. */
function re2NodeCost(node: Node): number {
  if (node.type === 'quantifier') return node.min === 0 ? 5 : 1
  return node.type === 'set' ? node.items.reduce(addItemCost, node.negated ? 5 : 1) : 1
}

function addItemCost(sum: number, item: SetItem): number {
  if ('property' in item) return sum + 1000
  if (item.to <= 0x7f) return sum
  return sum + (item.from === item.to ? 1 : 4)
}

function sumUnrolled(node: Node, costOf: (node: Node) => number): number {
  const sum = childrenOf(node).reduce((total, child) => total + sumUnrolled(child, costOf), costOf(node))
  if (node.type !== 'quantifier') return sum
  return sum * Math.max(1, node.max === Infinity ? node.min + 1 : node.max)
}

/** Estimates how long V8 takes to compile a pattern, in microseconds. Compilation cannot be interrupted. */
export function estimateV8CompileMicros(node: Node): number {
  const sum = childrenOf(node).reduce((total, child) => total + estimateV8CompileMicros(child), 1)
  switch (node.type) {
    case 'set':
      return sum + 30 * node.items.filter((item) => 'property' in item).length
    case 'quantifier':
      return sum + (node.greediness === 'possessive' ? 20 : 10)
    case 'atomic':
    case 'back-reference':
      return sum + 20
    default:
      return sum
  }
}
