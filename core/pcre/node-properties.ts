import { childrenOf, type Node } from './ast.ts'

/** Whether the node can match the empty string; assertions and back-references count as if they could. */
export function canMatchEmpty(node: Node): boolean {
  switch (node.type) {
    case 'character':
    case 'set':
    case 'grapheme':
      return false
    case 'sequence':
      return node.parts.every(canMatchEmpty)
    case 'alternation':
      return node.branches.some(canMatchEmpty)
    case 'capture':
    case 'atomic':
      return canMatchEmpty(node.body)
    case 'quantifier':
      return node.min === 0 || canMatchEmpty(node.body)
    default:
      return true
  }
}

/** Whether the node never consumes a character. */
export function isZeroWidth(node: Node): boolean {
  switch (node.type) {
    case 'character':
    case 'set':
    case 'back-reference':
    case 'subroutine-call':
    case 'grapheme':
      return false
    case 'look-around':
    case 'assertion':
    case 'group-test':
    case 'recursion-test':
    case 'keep':
    case 'verb':
      return true
    default:
      return childrenOf(node).every(isZeroWidth)
  }
}

/** The number of characters that the node consumes; undefined if it varies or is unknown. */
export function fixedWidthOf(node: Node): number | undefined {
  switch (node.type) {
    case 'character':
    case 'set':
      return 1
    case 'look-around':
    case 'assertion':
    case 'group-test':
    case 'recursion-test':
    case 'keep':
      return 0
    case 'sequence':
      return node.parts.reduce<number | undefined>((sum, part) => addWidths(sum, fixedWidthOf(part)), 0)
    case 'alternation': {
      const [width, ...others] = node.branches.map(fixedWidthOf)
      return others.every((other) => other === width) ? width : undefined
    }
    case 'capture':
    case 'atomic':
      return fixedWidthOf(node.body)
    case 'quantifier': {
      const width = fixedWidthOf(node.body)
      return width === undefined || node.min !== node.max ? undefined : width * node.min
    }
    default:
      return undefined
  }
}

function addWidths(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b
}

/** Whether the node matches in at most one way from any position, so that it cannot be backtracked into. */
export function hasSingleMatch(node: Node): boolean {
  if (node.type === 'alternation') return false
  if (node.type === 'quantifier' && node.min !== node.max) return false
  return childrenOf(node).every(hasSingleMatch)
}

/** Whether the pattern starts with `\G` or has the modifier `A`. */
export function startsAtSearchStart(node: Node): boolean {
  const first = node.type === 'sequence' ? node.parts[0] : undefined
  return first === undefined ? isSearchStart(node) : startsAtSearchStart(first)
}

export function isSearchStart(node: Node): boolean {
  return node.type === 'assertion' && node.kind === 'search-start'
}
