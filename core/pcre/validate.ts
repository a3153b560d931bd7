import { childrenOf, type Node, someNode } from './ast.ts'
import { countPositions } from './compile-cost.ts'
import { canMatchEmpty, fixedWidthOf } from './node-properties.ts'
import type { ParsedPattern } from './parse.ts'
import { PatternError } from './pattern-error.ts'

/** Throws a `PatternError` for what PCRE rejects and for what no engine can run as PCRE does. */
export function validatePattern({ root, groupBodies }: ParsedPattern): void {
  if (countPositions(root) > MAX_POSITIONS)
    throw new PatternError(
      `The pattern has more than ${MAX_POSITIONS} elements once its repetitions are expanded`,
    )
  validateLookArounds(root)
  validateCommit(root)
  if (!someNode(root, isCall)) return
  for (const body of groupBodies.values()) validateLookArounds(body)
  validateRecursion(root, groupBodies)
}

function isCall({ type }: Node): boolean {
  return type === 'subroutine-call'
}

/** No engine compiles larger patterns in reasonable time. */
const MAX_POSITIONS = 30_000

function validateLookArounds(node: Node): void {
  childrenOf(node).forEach(validateLookArounds)
  if (node.type !== 'look-around') return
  if (!node.behind) return
  const branches = node.body.type === 'alternation' ? node.body.branches : [node.body]
  if (branches.some((branch) => fixedWidthOf(branch) === undefined))
    throw new PatternError('A branch of a look-behind does not have a fixed length')
}

/**
 * PCRE does not try to match where no first character of the pattern is, so whether it reaches a `(*COMMIT)`
 * there depends on its optimizations.
 */
function validateCommit(root: Node): void {
  const isCommit = (node: Node) => node.type === 'verb' && node.verb === 'commit'
  const isInLookAround = (node: Node) => node.type === 'look-around' && someNode(node.body, isCommit)
  if (someNode(root, isInLookAround) || firstNodes(root, isCommit).size > 0)
    throw new PatternError('(*COMMIT) is supported only after a character, outside of look-around')
}

/** A group that calls itself before it has matched a character would never end. */
function validateRecursion(root: Node, groupBodies: ReadonlyMap<number, Node>): void {
  const bodies = new Map([...groupBodies, [0, root]])
  const finished = new Set<number>()
  const visit = (index: number, callers: readonly number[]): void => {
    if (finished.has(index)) return
    if (callers.includes(index))
      throw new PatternError('A group that calls itself before it matches a character is not supported')
    const body = bodies.get(index)
    if (body === undefined) throw new PatternError(`Group ${index} does not exist`)
    for (const call of firstNodes(body, isCall))
      if (call.type === 'subroutine-call') visit(call.index, [...callers, index])
    finished.add(index)
  }
  for (const index of bodies.keys()) visit(index, [])
}

/** The nodes of a kind that a node may reach before it has matched a character. */
function firstNodes(node: Node, isWanted: (node: Node) => boolean): ReadonlySet<Node> {
  if (isWanted(node)) return new Set([node])
  const found = new Set<Node>()
  for (const child of childrenOf(node)) {
    for (const each of firstNodes(child, isWanted)) found.add(each)
    if (node.type === 'sequence' && !canMatchEmpty(child)) break
  }
  return found
}
