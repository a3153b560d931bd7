import type { Node, SetItem } from './ast.ts'
import { childrenOf } from './ast.ts'

/** How many characters the pattern spells out once repetitions are unrolled. */
export function countPositions(node: Node): number {
  return sumUnrolled(node, () => 1)
}

/** About what RE2 takes to compile the pattern, in half microseconds. */
export function estimateRe2CompileCost(node: Node): number {
  return sumUnrolled(node, re2NodeCost)
}

/** A Unicode property is hundreds of ranges; what can be left out makes the compiler look further ahead. */
function re2NodeCost(node: Node): number {
  if (node.type === 'quantifier') return node.min === 0 ? 5 : 1
  return node.type === 'set' ? node.items.reduce(addItemCost, node.negated ? 5 : 1) : 1
}

function addItemCost(sum: number, item: SetItem): number {
  if ('property' in item) return sum + 1000
  if (item.to <= 0x7f) return sum
  return sum + (item.from === item.to ? 1 : 4)
}

function sumUnrolled(node: Node, cost: (node: Node) => number): number {
  const inside = childrenOf(node).reduce((sum, child) => sum + sumUnrolled(child, cost), cost(node))
  if (node.type !== 'quantifier') return inside
  return inside * Math.max(1, node.max === Infinity ? node.min + 1 : node.max)
}

/** About how many microseconds V8 takes to compile the pattern, which no deadline can cut short. */
export function estimateV8CompileMicros(node: Node): number {
  const inside = childrenOf(node).reduce((sum, child) => sum + estimateV8CompileMicros(child), 1)
  switch (node.type) {
    case 'set':
      return inside + 30 * node.items.filter((item) => 'property' in item).length
    case 'quantifier':
      return inside + (node.greediness === 'possessive' ? 20 : 10)
    case 'atomic':
    case 'back-reference':
      return inside + 20
    default:
      return inside
  }
}
