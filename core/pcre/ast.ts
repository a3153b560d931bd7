/**
 * A pattern as a tree. All modifiers are resolved while parsing: letters that ignore case are sets of all their forms,
 * `.` is a set, `$` one of three assertions; so the writers for the engines need to know nothing about modifiers.
 */
export type Node =
  | { readonly type: 'character'; readonly code: number }
  | { readonly type: 'set'; readonly items: readonly SetItem[]; readonly negated: boolean }
  | { readonly type: 'assertion'; readonly kind: AssertionKind }
  | { readonly type: 'sequence'; readonly parts: readonly Node[] }
  | { readonly type: 'choice'; readonly branches: readonly Node[] }
  | { readonly type: 'capture'; readonly index: number; readonly body: Node }
  | { readonly type: 'atomic'; readonly body: Node }
  | Repeat
  | Look
  | { readonly type: 'reference'; readonly index: number; readonly caseless: boolean }
  | { readonly type: 'call'; readonly index: number }
  /** `\K`: the match starts here. */
  | { readonly type: 'keep' }

export interface Repeat {
  readonly type: 'repeat'
  readonly body: Node
  readonly min: number
  /** `Infinity` for no limit. */
  readonly max: number
  readonly greed: 'greedy' | 'lazy' | 'possessive'
}

/** Look-ahead and look-behind. */
export interface Look {
  readonly type: 'look'
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
  | 'word-edge'
  | 'not-word-edge'
  | 'unicode-word-edge'
  | 'not-unicode-word-edge'
  /** `\G`: where the search began. */
  | 'search-start'

/** Code points from `from` to `to`, both included. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** A Unicode property by the name that both engines know, such as `Lu`, `scx=Greek` or `Alphabetic`. */
interface Property {
  readonly property: string
  readonly negated: boolean
}

export type SetItem = Range | Property

export const EMPTY: Node = { type: 'sequence', parts: [] }

/** What matches nowhere. */
export const NEVER: Node = { type: 'set', items: [], negated: false }

/** The parts one after the other; a single one as it is. */
export function sequence(parts: readonly Node[]): Node {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : { type: 'sequence', parts }
}

/** The branches in order of preference; a single one as it is. */
export function choice(branches: readonly Node[]): Node {
  return branches.length === 1 && branches[0] !== undefined ? branches[0] : { type: 'choice', branches }
}

/** A set of code points and properties. */
export function set(items: readonly SetItem[], negated = false): Node {
  return { type: 'set', items, negated }
}

/** The nodes directly below, in the order of the pattern. */
export function childrenOf(node: Node): readonly Node[] {
  switch (node.type) {
    case 'sequence':
      return node.parts
    case 'choice':
      return node.branches
    case 'capture':
    case 'atomic':
    case 'repeat':
    case 'look':
      return [node.body]
    case 'character':
    case 'set':
    case 'assertion':
    case 'reference':
    case 'call':
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
    case 'choice':
      return { ...node, branches: node.branches.map(change) }
    case 'capture':
    case 'atomic':
    case 'repeat':
    case 'look':
      return { ...node, body: change(node.body) }
    default:
      return node
  }
}

/** Whether the node or anything below it passes. */
export function contains(node: Node, passes: (node: Node) => boolean): boolean {
  return passes(node) || childrenOf(node).some((child) => contains(child, passes))
}

/** The same without capturing, for a part that is written a second time. */
export function withoutCaptures(node: Node): Node {
  return node.type === 'capture' ? withoutCaptures(node.body) : mapChildren(node, withoutCaptures)
}
