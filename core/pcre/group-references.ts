import { childrenOf, type Node, someNode } from './ast.ts'
import { canMatchEmpty } from './node-properties.ts'

/** A back-reference, or the condition of a conditional group. */
type GroupReference = Extract<Node, { readonly type: 'back-reference' | 'group-test' }>

/**
 * Returns the back-references to groups that may be unset: in PCRE they fail, in JavaScript they match the
 * empty string.
 */
export function findUnsetReferences(root: Node): ReadonlySet<Node> {
  const found = new Set<Node>()
  if (someNode(root, isGroupReference)) visitReferences(root, new Set(), (node) => found.add(node))
  return found
}

/**
 * Whether there is a reference to a group that may be unset, and JavaScript cannot tell whether it is: the
 * group may be set to the empty string, or is repeated, which unsets it in JavaScript.
 */
export function hasUntestableReferences(root: Node): boolean {
  if (!someNode(root, isGroupReference)) return false
  const testable = findTestableGroups(root)
  let found = false
  visitReferences(root, new Set(), ({ index }) => {
    found ||= testable.get(index) !== true
  })
  return found
}

function isGroupReference({ type }: Node): boolean {
  return type === 'back-reference' || type === 'group-test'
}

/** Whether each group, by its number, cannot be empty and is not repeated. */
function findTestableGroups(root: Node): ReadonlyMap<number, boolean> {
  const testable = new Map<number, boolean>()
  function visit(node: Node, isRepeated: boolean): void {
    if (node.type === 'capture') {
      const isTestable = !isRepeated && !canMatchEmpty(node.body)
      testable.set(node.index, isTestable && (testable.get(node.index) ?? true))
    }
    const repeats = node.type === 'quantifier' && node.max > 1
    for (const child of childrenOf(node)) visit(child, isRepeated || repeats)
  }
  visit(root, false)
  return testable
}

/**
 * Visits conditions, and back-references to groups that are not certainly set. Returns the groups that are
 * certainly set once the node has matched.
 */
function visitReferences(
  node: Node,
  before: ReadonlySet<number>,
  visit: (reference: GroupReference) => void,
): ReadonlySet<number> {
  switch (node.type) {
    case 'group-test':
      visit(node)
      return before
    case 'back-reference':
      if (!before.has(node.index)) visit(node)
      return before
    case 'sequence':
      return node.parts.reduce((groups, part) => visitReferences(part, groups, visit), before)
    case 'alternation': {
      const [first = before, ...others] = node.branches.map((branch) =>
        visitReferences(branch, before, visit),
      )
      return new Set([...first].filter((index) => others.every((other) => other.has(index))))
    }
    case 'capture':
      return new Set([...visitReferences(node.body, before, visit), node.index])
    case 'quantifier':
    case 'look-around': {
      const after = visitReferences(node.body, before, visit)
      return (node.type === 'look-around' ? node.negated : node.min === 0) ? before : after
    }
    case 'atomic':
      return visitReferences(node.body, before, visit)
    default:
      return before
  }
}
