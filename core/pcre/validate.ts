import { childrenOf, contains, type Node } from './ast.ts'
import { countPositions } from './compile-cost.ts'
import { fixedWidth, isSearchStart, startsAtSearch } from './node-properties.ts'
import { PatternFault } from './pattern-error.ts'

/** Throws a `PatternFault` for what PCRE refuses, and for what no engine here could run with PCRE's meaning. */
export function checkPattern(root: Node): void {
  if (countPositions(root) > MOST_POSITIONS) throw new PatternFault('it is too large')
  checkLooks(root)
  if (contains(root, ({ type }) => type === 'reference')) setAfter(root, new Set())
  if (count(root, isSearchStart) > (startsAtSearch(root) ? 1 : 0))
    throw new PatternFault('\\G can be evaluated at the start of a pattern only')
}

/** Larger patterns are refused: neither engine compiles them in reasonable time. */
const MOST_POSITIONS = 30_000

function checkLooks(node: Node): void {
  childrenOf(node).forEach(checkLooks)
  if (node.type !== 'look') return
  if (contains(node.body, ({ type }) => type === 'keep'))
    throw new PatternFault('\\K in a look-around cannot be evaluated')
  if (!node.behind) return
  const branches = node.body.type === 'choice' ? node.body.branches : [node.body]
  if (branches.some((branch) => fixedWidth(branch) === undefined))
    throw new PatternFault('a branch of a look-behind has no fixed length')
}

/**
 * The groups that have taken part for certain once the node has matched. A reference to any other is refused: in PCRE it
 * fails when its group has not taken part, in JavaScript it matches the empty text.
 */
function setAfter(node: Node, before: ReadonlySet<number>): ReadonlySet<number> {
  switch (node.type) {
    case 'reference':
      if (!before.has(node.index))
        throw new PatternFault('a back-reference to a group that may not have taken part cannot be evaluated')
      return before
    case 'sequence':
      return node.parts.reduce((groups, part) => setAfter(part, groups), before)
    case 'choice': {
      const [first = before, ...others] = node.branches.map((branch) => setAfter(branch, before))
      return new Set([...first].filter((index) => others.every((other) => other.has(index))))
    }
    case 'capture':
      return new Set([...setAfter(node.body, before), node.index])
    case 'repeat':
    case 'look': {
      const after = setAfter(node.body, before)
      return (node.type === 'look' ? node.negated : node.min === 0) ? before : after
    }
    case 'atomic':
      return setAfter(node.body, before)
    default:
      return before
  }
}

function count(node: Node, passes: (node: Node) => boolean): number {
  return childrenOf(node).reduce((sum, child) => sum + count(child, passes), passes(node) ? 1 : 0)
}
