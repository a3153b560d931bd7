import { canBeEmpty, isAlwaysEmpty } from './measure.ts'
import { childrenOf, choice, EMPTY, NEVER, type Node, sequence } from './syntax.ts'

/**
 * The pattern without its empty matches, in the same order of preference. A mask leaves empty matches alone, and where
 * PCRE has found one it looks for one that is not empty in the same place; both together are a search with this pattern.
 * Undefined for a pattern that would grow too much.
 */
export function withoutEmpty(root: Node): Node | undefined {
  if (!canBeEmpty(root)) return root
  return countEmptiable(root) > MOST_EMPTIABLE ? undefined : nonEmpty(root)
}

/** The result grows with the square of this. */
const MOST_EMPTIABLE = 60

function countEmptiable(node: Node): number {
  return childrenOf(node).reduce((sum, child) => sum + countEmptiable(child), canBeEmpty(node) ? 1 : 0)
}

function nonEmpty(node: Node): Node {
  if (!canBeEmpty(node)) return node
  switch (node.type) {
    case 'sequence':
      return nonEmptySequence(node.parts)
    case 'choice':
      return choice(node.branches.map(nonEmpty))
    case 'capture':
      return { ...node, body: nonEmpty(node.body) }
    case 'repeat':
      return node.max === 0 ? NEVER : { ...node, body: nonEmpty(node.body), min: 1 }
    case 'reference':
    case 'atomic':
      return node
    default:
      return NEVER
  }
}

/** Either the first part takes something, or it is empty and one of the others does. */
function nonEmptySequence(parts: readonly Node[]): Node {
  const [first, ...others] = parts
  if (first === undefined) return NEVER
  const rest = sequence(others)
  const later = sequence([onlyEmpty(first), nonEmpty(rest)])
  if (isAlwaysEmpty(first)) return later
  const now = sequence([nonEmpty(first), rest])
  return choice(prefersEmpty(first) ? [later, now] : [now, later])
}

/** The node where it matches the empty text. */
function onlyEmpty(node: Node): Node {
  switch (node.type) {
    case 'character':
    case 'set':
      return NEVER
    case 'sequence':
      return sequence(node.parts.map(onlyEmpty))
    case 'choice':
      return choice(node.branches.filter(canBeEmpty).map(onlyEmpty))
    case 'capture':
      return { ...node, body: onlyEmpty(node.body) }
    case 'repeat':
      return node.min === 0 ? EMPTY : onlyEmpty(node.body)
    default:
      return node
  }
}

function prefersEmpty(node: Node): boolean {
  if (node.type === 'repeat') return node.greed === 'lazy' && (node.min === 0 || prefersEmpty(node.body))
  if (node.type === 'choice') return node.branches[0] !== undefined && canBeEmpty(node.branches[0])
  return false
}
