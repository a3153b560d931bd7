import { childrenOf, type Node, someNode } from './ast.ts'
import { countPositions } from './compile-cost.ts'
import { validateGroupReferences } from './group-references.ts'
import { fixedWidthOf, isSearchStart, startsAtSearchStart } from './node-properties.ts'
import { PatternError } from './pattern-error.ts'

/** Throws a `PatternError` for what PCRE rejects and for what neither engine can run as PCRE does. */
export function validatePattern(root: Node): void {
  if (countPositions(root) > MAX_POSITIONS)
    throw new PatternError(
      `The pattern has more than ${MAX_POSITIONS} elements once its repetitions are expanded`,
    )
  validateLookArounds(root)
  validateGroupReferences(root)
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

function countNodes(node: Node, predicate: (node: Node) => boolean): number {
  return childrenOf(node).reduce((sum, child) => sum + countNodes(child, predicate), predicate(node) ? 1 : 0)
}
