/**
 * A node of the abstract syntax tree of a pattern. The parser resolves all modifiers: a case-insensitive
 * letter is a set of its case variants, `.` is a set, and `$` is one of three assertions. The translations to
 * RE2 and to `RegExp` need no knowledge of modifiers.
 */
export type Node =
  | { readonly type: 'character'; readonly code: number }
  | { readonly type: 'set'; readonly items: readonly SetItem[]; readonly negated: boolean }
  | { readonly type: 'assertion'; readonly kind: AssertionKind }
  | { readonly type: 'sequence'; readonly parts: readonly Node[] }
  /** `isCondition`: the branches of a conditional group, which `(*THEN)` does not see. */
  | { readonly type: 'alternation'; readonly branches: readonly Node[]; readonly isCondition?: boolean }
  | { readonly type: 'capture'; readonly index: number; readonly body: Node }
  | { readonly type: 'atomic'; readonly body: Node }
  | Quantifier
  | LookAround
  | { readonly type: 'back-reference'; readonly index: number; readonly caseless: boolean }
  /** Group 0 is the whole pattern. */
  | { readonly type: 'subroutine-call'; readonly index: number }
  /** The condition of `(?(1)…|…)`: whether the group is set, or with `negated` that it is not. */
  | { readonly type: 'group-test'; readonly index: number; readonly negated: boolean }
  /** The condition of `(?(R)…|…)`: whether this is a call, of the group if there is one. */
  | { readonly type: 'recursion-test'; readonly called: number | undefined; readonly negated: boolean }
  /** `\K`: the reported match starts here. */
  | { readonly type: 'keep' }
  /** `\X`: an extended grapheme cluster. */
  | { readonly type: 'grapheme' }
  /** `(*FAIL)`, `(*ACCEPT)` and the verbs that act when they are backtracked onto. */
  | { readonly type: 'verb'; readonly verb: Verb }

export type Verb = 'accept' | 'commit' | 'fail' | 'prune' | 'skip' | 'then'

export interface Quantifier {
  readonly type: 'quantifier'
  readonly body: Node
  readonly min: number
  /** `Infinity` when unbounded. */
  readonly max: number
  readonly greediness: 'greedy' | 'lazy' | 'possessive'
}

/** A look-ahead, or a look-behind when `behind` is true. */
export interface LookAround {
  readonly type: 'look-around'
  readonly behind: boolean
  readonly negated: boolean
  readonly body: Node
}

export type AssertionKind =
  | 'text-start'
  | 'text-end'
  /** `$` and `\Z`: at the end of the text, or before a final newline. */
  | 'text-end-or-newline'
  | 'line-start'
  | 'line-end'
  | 'word-boundary'
  | 'not-word-boundary'
  | 'unicode-word-boundary'
  | 'not-unicode-word-boundary'
  /** `\G`: where the search began. */
  | 'search-start'

export type SetItem = CodePointRange | Property

/** The code points from `from` to `to`, inclusive. */
export interface CodePointRange {
  readonly from: number
  readonly to: number
}

/** A Unicode property, by a name that both engines support, such as `Lu`, `scx=Greek` or `Alphabetic`. */
interface Property {
  readonly property: string
  readonly negated: boolean
}

/** Matches the empty string. */
export const EMPTY_NODE: Node = { type: 'sequence', parts: [] }

/** Matches nothing. */
export const NEVER_MATCHES: Node = { type: 'set', items: [], negated: false }

/** Builds a sequence; a single part is returned as it is. */
export function sequenceOf(parts: readonly Node[]): Node {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : { type: 'sequence', parts }
}

/** Builds an alternation, with the preferred branch first; a single branch is returned as it is. */
export function alternationOf(branches: readonly Node[]): Node {
  return branches.length === 1 && branches[0] !== undefined ? branches[0] : { type: 'alternation', branches }
}

export function characterSet(items: readonly SetItem[], negated = false): Node {
  return { type: 'set', items, negated }
}

/** Returns the direct children of a node, in source order. */
export function childrenOf(node: Node): readonly Node[] {
  switch (node.type) {
    case 'sequence':
      return node.parts
    case 'alternation':
      return node.branches
    case 'capture':
    case 'atomic':
    case 'quantifier':
    case 'look-around':
      return [node.body]
    case 'character':
    case 'set':
    case 'assertion':
    case 'back-reference':
    case 'subroutine-call':
    case 'group-test':
    case 'recursion-test':
    case 'keep':
    case 'grapheme':
    case 'verb':
      return []
    default:
      return node satisfies never
  }
}

/** Returns a copy of the node with `map` applied to each direct child. */
export function mapChildren(node: Node, map: (child: Node) => Node): Node {
  switch (node.type) {
    case 'sequence':
      return { ...node, parts: node.parts.map(map) }
    case 'alternation':
      return { ...node, branches: node.branches.map(map) }
    case 'capture':
    case 'atomic':
    case 'quantifier':
    case 'look-around':
      return { ...node, body: map(node.body) }
    default:
      return node
  }
}

/** Whether the node or any descendant satisfies the predicate. */
export function someNode(node: Node, predicate: (node: Node) => boolean): boolean {
  return predicate(node) || childrenOf(node).some((child) => someNode(child, predicate))
}

/** Turns captures into plain groups, for a part of a pattern that is emitted a second time. */
export function removeCaptures(node: Node): Node {
  return node.type === 'capture' ? removeCaptures(node.body) : mapChildren(node, removeCaptures)
}

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

/** Counts the nodes of a pattern with its repetitions unrolled, which bounds the size of its automaton. */
export function countPositions(node: Node): number {
  return sumUnrolled(node, () => 1)
}

/** Estimates how long RE2 takes to compile a pattern, in units of half a microsecond. */
export function estimateRe2CompileCost(node: Node): number {
  return sumUnrolled(node, re2NodeCost)
}

/** A Unicode property expands to hundreds of ranges; an optional item makes RE2 look further ahead. */
function re2NodeCost(node: Node): number {
  if (node.type === 'quantifier') return node.min === 0 ? 5 : 1
  return node.type === 'set' ? node.items.reduce(addItemCost, node.negated ? 5 : 1) : 1
}

function addItemCost(sum: number, item: SetItem): number {
  if ('property' in item) return sum + 1000
  if (item.to <= 0x7f) return sum
  return sum + (item.from === item.to ? 1 : 4)
}

function sumUnrolled(node: Node, costOf: (node: Node) => number): number {
  const sum = childrenOf(node).reduce((total, child) => total + sumUnrolled(child, costOf), costOf(node))
  if (node.type !== 'quantifier') return sum
  return sum * Math.max(1, node.max === Infinity ? node.min + 1 : node.max)
}

/** Estimates how long V8 takes to compile a pattern, in microseconds. Compilation cannot be interrupted. */
export function estimateV8CompileMicros(node: Node): number {
  const sum = childrenOf(node).reduce((total, child) => total + estimateV8CompileMicros(child), 1)
  switch (node.type) {
    case 'set':
      return sum + 30 * node.items.filter((item) => 'property' in item).length
    case 'quantifier':
      return sum + (node.greediness === 'possessive' ? 20 : 10)
    case 'atomic':
    case 'back-reference':
      return sum + 20
    default:
      return sum
  }
}
