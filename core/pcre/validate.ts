import { childrenOf, type Node, someNode } from './ast.ts'
import { countPositions } from './compile-cost.ts'
import { fixedWidthOf, isSearchStart, startsAtSearchStart } from './node-properties.ts'
import { PatternError } from './pattern-error.ts'

/** Throws a `PatternError` for what PCRE rejects and for what neither engine can run as PCRE does. */
export function validatePattern(root: Node): void {
  if (countPositions(root) > MAX_POSITIONS)
    throw new PatternError(
      `The pattern has more than ${MAX_POSITIONS} elements once its repetitions are expanded`,
    )
  validateLookArounds(root)
  if (someNode(root, ({ type }) => type === 'back-reference')) groupsSetAfter(root, new Set())
  if (countNodes(root, isSearchStart) > (startsAtSearchStart(root) ? 1 : 0))
    throw new PatternError('\\G is supported only at the start of a pattern')
}

/** Neither engine compiles larger patterns in reasonable time. */
const MAX_POSITIONS = 30_000

function validateLookArounds(node: Node): void {
  childrenOf(node).forEach(validateLookArounds)
  if (node.type !== 'look-around') return
  if (someNode(node.body, ({ type }) => type === 'keep'))
    throw new PatternError('\\K in a look-around is not supported')
  if (!node.behind) return
  const branches = node.body.type === 'alternation' ? node.body.branches : [node.body]
  if (branches.some((branch) => fixedWidthOf(branch) === undefined))
    throw new PatternError('A branch of a look-behind does not have a fixed length')
}

/**
 * Returns the groups that are certainly set once the node has matched. Throws a `PatternError` for a
 * back-reference to any other group: if the group is unset, PCRE fails to match, but JavaScript matches the
 * empty string.
 */
function groupsSetAfter(node: Node, before: ReadonlySet<number>): ReadonlySet<number> {
  switch (node.type) {
    case 'back-reference':
      if (!before.has(node.index))
        throw new PatternError('Back-references to groups that may be unset are not supported')
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

function countNodes(node: Node, predicate: (node: Node) => boolean): number {
  return childrenOf(node).reduce((sum, child) => sum + countNodes(child, predicate), predicate(node) ? 1 : 0)
}
