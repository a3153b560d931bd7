/**
 * A pattern as a tree. All modifiers are resolved while parsing: letters that ignore case are sets of all their forms,
 * `.` is a set, `$` one of three assertions; so the writers for the engines need to know nothing about modifiers.
 */
export type Node =
  | { readonly type: 'character'; readonly code: number }
  | { readonly type: 'set'; readonly items: readonly SetItem[]; readonly negated: boolean }
  | { readonly type: 'assertion'; readonly kind: AssertionKind }
  | { readonly type: 'sequence'; readonly parts: readonly Node[] }
  | { readonly type: 'alternation'; readonly branches: readonly Node[] }
  | { readonly type: 'capture'; readonly index: number; readonly body: Node }
  | { readonly type: 'atomic'; readonly body: Node }
  | Quantifier
  | LookAround
  | { readonly type: 'back-reference'; readonly index: number; readonly caseless: boolean }
  | { readonly type: 'subroutine-call'; readonly index: number }
  /** `\K`: the match starts here. */
  | { readonly type: 'keep' }

export interface Quantifier {
  readonly type: 'quantifier'
  readonly body: Node
  readonly min: number
  /** `Infinity` for no limit. */
  readonly max: number
  readonly greediness: 'greedy' | 'lazy' | 'possessive'
}

/** Look-ahead and look-behind. */
export interface LookAround {
  readonly type: 'look-around'
  readonly behind: boolean
  readonly negated: boolean
  readonly body: Node
}

export type AssertionKind =
  | 'text-start'
  | 'text-end'
  /** `$` and `\Z`: at the end, or before a newline that ends the text. */
  | 'text-end-or-newline'
  | 'line-start'
  | 'line-end'
  | 'word-boundary'
  | 'not-word-boundary'
  | 'unicode-word-boundary'
  | 'not-unicode-word-boundary'
  /** `\G`: where the search began. */
  | 'search-start'

/** Code points from `from` to `to`, both included. */
export interface CodePointRange {
  readonly from: number
  readonly to: number
}

/** A Unicode property by the name that both engines know, such as `Lu`, `scx=Greek` or `Alphabetic`. */
interface Property {
  readonly property: string
  readonly negated: boolean
}

export type SetItem = CodePointRange | Property

export const EMPTY_NODE: Node = { type: 'sequence', parts: [] }

/** What matches nowhere. */
export const NEVER_MATCHES: Node = { type: 'set', items: [], negated: false }

/** The parts one after the other; a single one as it is. */
export function sequenceOf(parts: readonly Node[]): Node {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : { type: 'sequence', parts }
}

/** The branches in order of preference; a single one as it is. */
export function alternationOf(branches: readonly Node[]): Node {
  return branches.length === 1 && branches[0] !== undefined ? branches[0] : { type: 'alternation', branches }
}

/** A set of code points and properties. */
export function characterSet(items: readonly SetItem[], negated = false): Node {
  return { type: 'set', items, negated }
}

/** The nodes directly below, in the order of the pattern. */
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
    case 'keep':
      return []
    default:
      return node satisfies never
  }
}

/** The node with `change` applied to everything directly below it. */
export function mapChildren(node: Node, change: (child: Node) => Node): Node {
  switch (node.type) {
    case 'sequence':
      return { ...node, parts: node.parts.map(change) }
    case 'alternation':
      return { ...node, branches: node.branches.map(change) }
    case 'capture':
    case 'atomic':
    case 'quantifier':
    case 'look-around':
      return { ...node, body: change(node.body) }
    default:
      return node
  }
}

/** Whether the node or anything below it passes. */
export function someNode(node: Node, passes: (node: Node) => boolean): boolean {
  return passes(node) || childrenOf(node).some((child) => someNode(child, passes))
}

/** The same without capturing, for a part that is written a second time. */
export function removeCaptures(node: Node): Node {
  return node.type === 'capture' ? removeCaptures(node.body) : mapChildren(node, removeCaptures)
}
