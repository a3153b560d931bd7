import { PatternFault } from './fault.ts'
import { countPositions, MOST_CALLED_POSITIONS } from './measure.ts'
import type { Parsed } from './parse.ts'
import { contains, mapChildren, type Node } from './syntax.ts'
import { withoutCaptures } from './without-captures.ts'

/** Puts the body of the group that is called in place of each call such as `(?1)` or `(?&name)`. */
export function expandCalls({ root, bodies }: Parsed): Node {
  return contains(root, isCall) ? expand(root, bodies, []) : root
}

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
