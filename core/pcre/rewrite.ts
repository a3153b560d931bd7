import {
  childrenOf,
  choice,
  contains,
  EMPTY,
  mapChildren,
  NEVER,
  type Node,
  sequence,
  withoutCaptures,
} from './ast.ts'
import { countPositions } from './compile-cost.ts'
import { canBeEmpty, isAlwaysEmpty } from './node-properties.ts'
import type { Parsed } from './parse.ts'
import { PatternFault } from './pattern-error.ts'

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

/** Puts the body of the group that is called in place of each call such as `(?1)` or `(?&name)`. */
export function expandCalls({ root, bodies }: Parsed): Node {
  return contains(root, isCall) ? expand(root, bodies, []) : root
}

/** Calls of groups may not blow a pattern up to more than this. */
const MOST_CALLED_POSITIONS = 2000

function expand(node: Node, bodies: ReadonlyMap<number, Node>, callers: readonly number[]): Node {
  if (node.type === 'capture') {
    return { ...node, body: expand(node.body, bodies, [...callers, node.index]) }
  }
  if (node.type !== 'call') return mapChildren(node, (child) => expand(child, bodies, callers))
  const body = bodies.get(node.index)
  if (body === undefined || callers.includes(node.index))
    throw new PatternFault('recursion cannot be evaluated')
  if (contains(body, ({ type }) => type === 'reference'))
    throw new PatternFault('a call of a group with a back-reference in it cannot be evaluated')
  const expanded = withoutCaptures(expand(body, bodies, [...callers, node.index]))
  if (countPositions(expanded) > MOST_CALLED_POSITIONS) throw new PatternFault('it is too large')
  return expanded
}

function isCall(node: Node): boolean {
  return node.type === 'call'
}
