import { childrenOf, type Node, someNode } from './ast.ts'
import { hasUntestableReferences } from './group-references.ts'
import { canMatchEmpty, isSearchStart, startsAtSearchStart } from './node-properties.ts'

/**
 * Whether V8 gives other results for a pattern than PCRE: it has no recursion and no verbs, cannot tell a
 * group that is unset from one that is empty, resets groups in each iteration of a loop, does not try empty
 * iterations, and does not search on from where it found an empty match. See docs/decisions/firewall.md, "An
 * interpreter runs what no engine runs as PCRE does".
 */
export function needsInterpreter(root: Node): boolean {
  return (
    canMatchEmpty(root) ||
    someNode(root, isUnknownToV8) ||
    someNode(root, isKeepInLookAround) ||
    hasSearchStartInside(root) ||
    hasUntestableReferences(root) ||
    someNode(root, isLoopWithOtherResults)
  )
}

const UNKNOWN_TO_V8: readonly Node['type'][] = ['subroutine-call', 'recursion-test', 'verb', 'grapheme']

function isUnknownToV8({ type }: Node): boolean {
  return UNKNOWN_TO_V8.includes(type)
}

function isKeepInLookAround(node: Node): boolean {
  return node.type === 'look-around' && someNode(node.body, ({ type }) => type === 'keep')
}

/** Whether there is a `\G` anywhere but at the start. */
function hasSearchStartInside(root: Node): boolean {
  return countSearchStarts(root) > (startsAtSearchStart(root) ? 1 : 0)
}

function countSearchStarts(node: Node): number {
  const own = isSearchStart(node) ? 1 : 0
  return childrenOf(node).reduce((sum, child) => sum + countSearchStarts(child), own)
}

function isLoopWithOtherResults(node: Node): boolean {
  if (node.type !== 'quantifier' || (node.min === 1 && node.max === 1)) return false
  const { body, max } = node
  const hasGroups = someNode(body, ({ type }) => type === 'capture')
  if (canMatchEmpty(body) && (hasGroups || !isZeroWidthAlone(body))) return true
  return max > 1 && hasGroups && !setsAllGroups(body)
}

/** A repeated assertion is tested once. */
function isZeroWidthAlone({ type }: Node): boolean {
  return type === 'look-around' || type === 'assertion'
}

/** Whether every iteration sets every group in it. */
function setsAllGroups(node: Node): boolean {
  if (node.type === 'alternation' || (node.type === 'quantifier' && node.min === 0))
    return !someNode(node, ({ type }) => type === 'capture')
  if (node.type === 'look-around' && node.negated) return !someNode(node, ({ type }) => type === 'capture')
  return childrenOf(node).every(setsAllGroups)
}
