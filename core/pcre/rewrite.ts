import {
  alternationOf,
  characterSet,
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
import { canMatchEmpty, hasSingleMatch, isZeroWidth } from './node-properties.ts'
import type { ParsedPattern } from './parse.ts'

/**
 * Rewrites a pattern so that it never matches the empty string, with the same order of preference. A mask
 * ignores empty matches, and after an empty match PCRE searches for a non-empty one at the same position;
 * searching with the rewritten pattern does both. Returns undefined if the pattern would grow too much.
 */
export function removeEmptyMatches(root: Node): Node | undefined {
  if (!canMatchEmpty(root)) return root
  return countEmptiable(root) > MAX_EMPTIABLE_NODES ? undefined : toNonEmpty(root)
}

/** The size of the rewritten pattern is quadratic in the number of nodes that can match the empty string. */
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
    case 'atomic':
      if (isZeroWidth(node.body)) return NEVER_MATCHES
      return hasSingleMatch(node.body) ? { ...node, body: toNonEmpty(node.body) } : node
    case 'back-reference':
      return node
    default:
      return NEVER_MATCHES
  }
}

/** Either the first part consumes something, or it matches the empty string and one of the others does. */
function toNonEmptySequence(parts: readonly Node[]): Node {
  const [first, ...others] = parts
  if (first === undefined) return NEVER_MATCHES
  const rest = sequenceOf(others)
  const firstEmpty = sequenceOf([toEmptyOnly(first), toNonEmpty(rest)])
  if (isZeroWidth(first)) return firstEmpty
  const firstNonEmpty = sequenceOf([toNonEmpty(first), rest])
  return alternationOf(prefersEmpty(first) ? [firstEmpty, firstNonEmpty] : [firstNonEmpty, firstEmpty])
}

/** Rewrites a node so that it only matches the empty string. */
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

/** Whether the node tries to match the empty string first. */
function prefersEmpty(node: Node): boolean {
  if (node.type === 'quantifier')
    return node.greediness === 'lazy' && (node.min === 0 || prefersEmpty(node.body))
  if (node.type === 'alternation') return node.branches[0] !== undefined && canMatchEmpty(node.branches[0])
  return false
}

/**
 * Cuts a pattern at its first back-reference, call or `\X`. The rest of the pattern cannot be searched
 * without the engine that knows these, and where a match may begin is decided by what comes before.
 */
export function cutAtBackReference(root: Node): Node {
  return cut(root).node
}

interface CutNode {
  readonly node: Node
  /** Whether what follows the node is cut off, too. */
  readonly isCut: boolean
}

function cut(node: Node): CutNode {
  switch (node.type) {
    case 'back-reference':
    case 'subroutine-call':
      return { node: EMPTY_NODE, isCut: true }
    case 'grapheme':
      return { node: characterSet([], true), isCut: true }
    case 'group-test':
    case 'recursion-test':
      return { node: EMPTY_NODE, isCut: false }
    case 'sequence':
      return cutSequence(node.parts)
    case 'alternation': {
      const branches = node.branches.map(cut)
      return {
        node: alternationOf(branches.map((each) => each.node)),
        isCut: branches.some(({ isCut }) => isCut),
      }
    }
    case 'capture':
    case 'atomic': {
      const body = cut(node.body)
      return { node: { ...node, body: body.node }, isCut: body.isCut }
    }
    case 'quantifier': {
      const body = cut(node.body)
      if (!body.isCut) return { node, isCut: false }
      return { node: node.min === 0 ? EMPTY_NODE : body.node, isCut: true }
    }
    default:
      return { node, isCut: false }
  }
}

function cutSequence(parts: readonly Node[]): CutNode {
  const kept: Node[] = []
  for (const part of parts) {
    const { node, isCut } = cut(part)
    kept.push(node)
    if (isCut) return { node: sequenceOf(kept), isCut }
  }
  return { node: sequenceOf(parts), isCut: false }
}

/**
 * Replaces each subroutine call, such as `(?1)` or `(?&name)`, with the body of the called group. Returns
 * undefined if only the interpreter can run the calls: for recursion, references in a called group, and
 * bodies that would make the pattern too large.
 */
export function expandCalls({ root, groupBodies }: ParsedPattern): Node | undefined {
  return someNode(root, isSubroutineCall) ? expandNode(root, groupBodies, []) : root
}

/** Limits how much subroutine calls can enlarge a pattern. */
const MAX_CALLED_POSITIONS = 2000

function expandNode(
  node: Node,
  bodies: ReadonlyMap<number, Node>,
  callers: readonly number[],
): Node | undefined {
  if (node.type !== 'subroutine-call') {
    const inner = node.type === 'capture' ? [...callers, node.index] : callers
    let isExpanded = true
    const expanded = mapChildren(node, (child) => {
      const result = isExpanded ? expandNode(child, bodies, inner) : undefined
      isExpanded &&= result !== undefined
      return result ?? child
    })
    return isExpanded ? expanded : undefined
  }
  const body = bodies.get(node.index)
  if (body === undefined || callers.includes(node.index)) return undefined
  if (someNode(body, dependsOnCall)) return undefined
  const expanded = expandNode(body, bodies, [...callers, node.index])
  if (expanded === undefined || countPositions(expanded) > MAX_CALLED_POSITIONS) return undefined
  return removeCaptures(expanded)
}

const CALL_DEPENDENT: readonly Node['type'][] = ['back-reference', 'group-test', 'recursion-test', 'verb']

/** Whether a node in a called group differs from its copy in place of the call. */
function dependsOnCall({ type }: Node): boolean {
  return CALL_DEPENDENT.includes(type)
}

function isSubroutineCall(node: Node): boolean {
  return node.type === 'subroutine-call'
}
