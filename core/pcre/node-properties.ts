import { childrenOf, type Node } from './ast.ts'

/** Whether the node can match without taking a character; assertions and references count as able to. */
export function canBeEmpty(node: Node): boolean {
  switch (node.type) {
    case 'character':
    case 'set':
      return false
    case 'sequence':
      return node.parts.every(canBeEmpty)
    case 'choice':
      return node.branches.some(canBeEmpty)
    case 'capture':
    case 'atomic':
      return canBeEmpty(node.body)
    case 'repeat':
      return node.min === 0 || canBeEmpty(node.body)
    default:
      return true
  }
}

/** Whether the node never takes a character. */
export function isAlwaysEmpty(node: Node): boolean {
  switch (node.type) {
    case 'character':
    case 'set':
    case 'reference':
      return false
    case 'look':
    case 'assertion':
    case 'keep':
      return true
    default:
      return childrenOf(node).every(isAlwaysEmpty)
  }
}

/** How many characters the node takes, if always the same number. */
export function fixedWidth(node: Node): number | undefined {
  switch (node.type) {
    case 'character':
    case 'set':
      return 1
    case 'look':
    case 'assertion':
    case 'keep':
      return 0
    case 'sequence':
      return node.parts.reduce<number | undefined>((sum, part) => add(sum, fixedWidth(part)), 0)
    case 'choice': {
      const [width, ...others] = node.branches.map(fixedWidth)
      return others.every((other) => other === width) ? width : undefined
    }
    case 'capture':
    case 'atomic':
      return fixedWidth(node.body)
    case 'repeat': {
      const width = fixedWidth(node.body)
      return width === undefined || node.min !== node.max ? undefined : width * node.min
    }
    default:
      return undefined
  }
}

function add(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one + other
}

/** Whether there is at most one way to match from a given place, so that nothing is left to backtrack into. */
export function isRigid(node: Node): boolean {
  if (node.type === 'choice') return false
  if (node.type === 'repeat' && node.min !== node.max) return false
  return childrenOf(node).every(isRigid)
}

/** Whether the pattern begins with `\G` or has the modifier `A`. */
export function startsAtSearch(node: Node): boolean {
  const first = node.type === 'sequence' ? node.parts[0] : undefined
  return first === undefined ? isSearchStart(node) : startsAtSearch(first)
}

export function isSearchStart(node: Node): boolean {
  return node.type === 'assertion' && node.kind === 'search-start'
}
