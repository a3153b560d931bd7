import {
  alternationOf,
  childrenOf,
  EMPTY_NODE,
  mapChildren,
  NEVER_MATCHES,
  type Node,
  removeCaptures,
  sequenceOf,
  someNode,
} from './ast.ts'
import { countPositions } from './compile-cost.ts'
import { canMatchEmpty, isZeroWidth } from './node-properties.ts'
import type { ParsedPattern } from './parse.ts'
import { PatternError } from './pattern-error.ts'

/**
 * The pattern without its empty matches, in the same order of preference. A mask leaves empty matches alone, and where
 * PCRE has found one it looks for one that is not empty in the same place; both together are a search with this pattern.
 * Undefined for a pattern that would grow too much.
 */
export function removeEmptyMatches(root: Node): Node | undefined {
  if (!canMatchEmpty(root)) return root
  return countEmptiable(root) > MAX_EMPTIABLE_NODES ? undefined : toNonEmpty(root)
}

/** The result grows with the square of this. */
const MAX_EMPTIABLE_NODES = 60

function countEmptiable(node: Node): number {
  return childrenOf(node).reduce((sum, child) => sum + countEmptiable(child), canMatchEmpty(node) ? 1 : 0)
}

function toNonEmpty(node: Node): Node {
  if (!canMatchEmpty(node)) return node
  switch (node.type) {
    case 'sequence':
      return toNonEmptySequence(node.parts)
    case 'alternation':
      return alternationOf(node.branches.map(toNonEmpty))
    case 'capture':
      return { ...node, body: toNonEmpty(node.body) }
    case 'quantifier':
      return node.max === 0 ? NEVER_MATCHES : { ...node, body: toNonEmpty(node.body), min: 1 }
    case 'back-reference':
    case 'atomic':
      return node
    default:
      return NEVER_MATCHES
  }
}

/** Either the first part takes something, or it is empty and one of the others does. */
function toNonEmptySequence(parts: readonly Node[]): Node {
  const [first, ...others] = parts
  if (first === undefined) return NEVER_MATCHES
  const rest = sequenceOf(others)
  const later = sequenceOf([toEmptyOnly(first), toNonEmpty(rest)])
  if (isZeroWidth(first)) return later
  const now = sequenceOf([toNonEmpty(first), rest])
  return alternationOf(prefersEmpty(first) ? [later, now] : [now, later])
}

/** The node where it matches the empty text. */
function toEmptyOnly(node: Node): Node {
  switch (node.type) {
    case 'character':
    case 'set':
      return NEVER_MATCHES
    case 'sequence':
      return sequenceOf(node.parts.map(toEmptyOnly))
    case 'alternation':
      return alternationOf(node.branches.filter(canMatchEmpty).map(toEmptyOnly))
    case 'capture':
      return { ...node, body: toEmptyOnly(node.body) }
    case 'quantifier':
      return node.min === 0 ? EMPTY_NODE : toEmptyOnly(node.body)
    default:
      return node
  }
}

function prefersEmpty(node: Node): boolean {
  if (node.type === 'quantifier')
    return node.greediness === 'lazy' && (node.min === 0 || prefersEmpty(node.body))
  if (node.type === 'alternation') return node.branches[0] !== undefined && canMatchEmpty(node.branches[0])
  return false
}

/** Puts the body of the group that is called in place of each call such as `(?1)` or `(?&name)`. */
export function expandCalls({ root, groupBodies: bodies }: ParsedPattern): Node {
  return someNode(root, isSubroutineCall) ? expandNode(root, bodies, []) : root
}

/** Calls of groups may not blow a pattern up to more than this. */
const MAX_CALLED_POSITIONS = 2000

function expandNode(node: Node, bodies: ReadonlyMap<number, Node>, callers: readonly number[]): Node {
  if (node.type === 'capture') {
    return { ...node, body: expandNode(node.body, bodies, [...callers, node.index]) }
  }
  if (node.type !== 'subroutine-call') return mapChildren(node, (child) => expandNode(child, bodies, callers))
  const body = bodies.get(node.index)
  if (body === undefined || callers.includes(node.index))
    throw new PatternError('recursion cannot be evaluated')
  if (someNode(body, ({ type }) => type === 'back-reference'))
    throw new PatternError('a call of a group with a back-reference in it cannot be evaluated')
  const expanded = removeCaptures(expandNode(body, bodies, [...callers, node.index]))
  if (countPositions(expanded) > MAX_CALLED_POSITIONS) throw new PatternError('it is too large')
  return expanded
}

function isSubroutineCall(node: Node): boolean {
  return node.type === 'subroutine-call'
}
