import { childrenOf, contains, type Node, type SetItem } from './ast.ts'
import { PatternFault } from './limits.ts'

/** Larger patterns are refused: neither engine compiles them in reasonable time. */
const MOST_POSITIONS = 30_000

/** Calls of groups may not blow a pattern up to more than this. */
export const MOST_CALLED_POSITIONS = 2000

/** How many characters the pattern spells out once repetitions are unrolled. */
export function countPositions(node: Node): number {
  return unroll(node, () => 1)
}

/** About what RE2 takes to compile the pattern, in half microseconds. */
export function countInstructions(node: Node): number {
  return unroll(node, countLeaf)
}

/** A Unicode property is hundreds of ranges; what can be left out makes the compiler look further ahead. */
function countLeaf(node: Node): number {
  if (node.type === 'repeat') return node.min === 0 ? 5 : 1
  return node.type === 'set' ? node.items.reduce(addItem, node.negated ? 5 : 1) : 1
}

function addItem(sum: number, item: SetItem): number {
  if ('property' in item) return sum + 1000
  if (item.to <= 0x7f) return sum
  return sum + (item.from === item.to ? 1 : 4)
}

/** About how many microseconds V8 takes to compile the pattern, which no deadline can cut short. */
export function countCompileTime(node: Node): number {
  const inside = childrenOf(node).reduce((sum, child) => sum + countCompileTime(child), 1)
  switch (node.type) {
    case 'set':
      return inside + 30 * node.items.filter((item) => 'property' in item).length
    case 'repeat':
      return inside + (node.greed === 'possessive' ? 20 : 10)
    case 'atomic':
    case 'reference':
      return inside + 20
    default:
      return inside
  }
}

function unroll(node: Node, cost: (node: Node) => number): number {
  const inside = childrenOf(node).reduce((sum, child) => sum + unroll(child, cost), cost(node))
  if (node.type !== 'repeat') return inside
  return inside * Math.max(1, node.max === Infinity ? node.min + 1 : node.max)
}

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
function fixedWidth(node: Node): number | undefined {
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

/** Throws a `PatternFault` for what PCRE refuses, and for what no engine here could run with PCRE's meaning. */
export function checkPattern(root: Node): void {
  if (countPositions(root) > MOST_POSITIONS) throw new PatternFault('it is too large')
  checkLooks(root)
  if (contains(root, ({ type }) => type === 'reference')) setAfter(root, new Set())
  if (count(root, isSearchStart) > (startsAtSearch(root) ? 1 : 0))
    throw new PatternFault('\\G can be evaluated at the start of a pattern only')
}

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

/** Whether the pattern begins with `\G` or has the modifier `A`. */
export function startsAtSearch(node: Node): boolean {
  const first = node.type === 'sequence' ? node.parts[0] : undefined
  return first === undefined ? isSearchStart(node) : startsAtSearch(first)
}

function count(node: Node, passes: (node: Node) => boolean): number {
  return childrenOf(node).reduce((sum, child) => sum + count(child, passes), passes(node) ? 1 : 0)
}

function isSearchStart(node: Node): boolean {
  return node.type === 'assertion' && node.kind === 'search-start'
}
