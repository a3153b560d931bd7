import { mapChildren, type Node } from './syntax.ts'

/** The same without capturing, for a part that is written a second time. */
export function withoutCaptures(node: Node): Node {
  return node.type === 'capture' ? withoutCaptures(node.body) : mapChildren(node, withoutCaptures)
}
