import { childrenOf, type Node, someNode } from './ast.ts'
import { countPositions } from './compile-cost.ts'
import { fixedWidthOf, isSearchStart, startsAtSearchStart } from './node-properties.ts'
import { PatternError } from './pattern-error.ts'

/** Throws a `PatternFault` for what PCRE refuses, and for what no engine here could run with PCRE's meaning. */
export function validatePattern(root: Node): void {
  if (countPositions(root) > MAX_POSITIONS) throw new PatternError('it is too large')
  validateLookArounds(root)
  if (someNode(root, ({ type }) => type === 'back-reference')) groupsSetAfter(root, new Set())
  if (countNodes(root, isSearchStart) > (startsAtSearchStart(root) ? 1 : 0))
    throw new PatternError('\\G can be evaluated at the start of a pattern only')
}

/** Larger patterns are refused: neither engine compiles them in reasonable time. */
const MAX_POSITIONS = 30_000

function validateLookArounds(node: Node): void {
  childrenOf(node).forEach(validateLookArounds)
  if (node.type !== 'look-around') return
  if (someNode(node.body, ({ type }) => type === 'keep'))
    throw new PatternError('\\K in a look-around cannot be evaluated')
  if (!node.behind) return
  const branches = node.body.type === 'alternation' ? node.body.branches : [node.body]
  if (branches.some((branch) => fixedWidthOf(branch) === undefined))
    throw new PatternError('a branch of a look-behind has no fixed length')
}

/**
 * The groups that have taken part for certain once the node has matched. A reference to any other is refused: in PCRE it
 * fails when its group has not taken part, in JavaScript it matches the empty text.
 */
function groupsSetAfter(node: Node, before: ReadonlySet<number>): ReadonlySet<number> {
  switch (node.type) {
    case 'back-reference':
      if (!before.has(node.index))
        throw new PatternError('a back-reference to a group that may not have taken part cannot be evaluated')
      return before
    case 'sequence':
      return node.parts.reduce((groups, part) => groupsSetAfter(part, groups), before)
    case 'alternation': {
      const [first = before, ...others] = node.branches.map((branch) => groupsSetAfter(branch, before))
      return new Set([...first].filter((index) => others.every((other) => other.has(index))))
    }
    case 'capture':
      return new Set([...groupsSetAfter(node.body, before), node.index])
    case 'quantifier':
    case 'look-around': {
      const after = groupsSetAfter(node.body, before)
      return (node.type === 'look-around' ? node.negated : node.min === 0) ? before : after
    }
    case 'atomic':
      return groupsSetAfter(node.body, before)
    default:
      return before
  }
}

function countNodes(node: Node, passes: (node: Node) => boolean): number {
  return childrenOf(node).reduce((sum, child) => sum + countNodes(child, passes), passes(node) ? 1 : 0)
}
