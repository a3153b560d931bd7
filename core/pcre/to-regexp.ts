import {
  type AssertionKind,
  canMatchEmpty,
  childrenOf,
  isSearchStart,
  type LookAround,
  type Node,
  type Quantifier,
  type SetItem,
  someNode,
  startsAtSearchStart,
} from './ast.ts'

/** A back-reference, or the condition of a conditional group. */
type GroupReference = Extract<Node, { readonly type: 'back-reference' | 'group-test' }>

/**
 * Returns the back-references to groups that may be unset: in PCRE they fail, in JavaScript they match the
 * empty string.
 */
function findUnsetReferences(root: Node): ReadonlySet<Node> {
  const found = new Set<Node>()
  if (someNode(root, isGroupReference)) visitReferences(root, new Set(), (node) => found.add(node))
  return found
}

/**
 * Whether there is a reference to a group that may be unset, and JavaScript cannot tell whether it is: the
 * group may be set to the empty string, or is repeated, which unsets it in JavaScript.
 */
function hasUntestableReferences(root: Node): boolean {
  if (!someNode(root, isGroupReference)) return false
  const testable = findTestableGroups(root)
  let found = false
  visitReferences(root, new Set(), ({ index }) => {
    found ||= testable.get(index) !== true
  })
  return found
}

function isGroupReference({ type }: Node): boolean {
  return type === 'back-reference' || type === 'group-test'
}

/** Whether each group, by its number, cannot be empty and is not repeated. */
function findTestableGroups(root: Node): ReadonlyMap<number, boolean> {
  const testable = new Map<number, boolean>()
  function visit(node: Node, isRepeated: boolean): void {
    if (node.type === 'capture') {
      const isTestable = !isRepeated && !canMatchEmpty(node.body)
      testable.set(node.index, isTestable && (testable.get(node.index) ?? true))
    }
    const repeats = node.type === 'quantifier' && node.max > 1
    for (const child of childrenOf(node)) visit(child, isRepeated || repeats)
  }
  visit(root, false)
  return testable
}

/**
 * Visits conditions, and back-references to groups that are not certainly set. Returns the groups that are
 * certainly set once the node has matched.
 */
function visitReferences(
  node: Node,
  before: ReadonlySet<number>,
  visit: (reference: GroupReference) => void,
): ReadonlySet<number> {
  switch (node.type) {
    case 'group-test':
      visit(node)
      return before
    case 'back-reference':
      if (!before.has(node.index)) visit(node)
      return before
    case 'sequence':
      return node.parts.reduce((groups, part) => visitReferences(part, groups, visit), before)
    case 'alternation': {
      const [first = before, ...others] = node.branches.map((branch) =>
        visitReferences(branch, before, visit),
      )
      return new Set([...first].filter((index) => others.every((other) => other.has(index))))
    }
    case 'capture':
      return new Set([...visitReferences(node.body, before, visit), node.index])
    case 'quantifier':
    case 'look-around': {
      const after = visitReferences(node.body, before, visit)
      return (node.type === 'look-around' ? node.negated : node.min === 0) ? before : after
    }
    case 'atomic':
      return visitReferences(node.body, before, visit)
    default:
      return before
  }
}

/** A pattern as the source and flags of a JavaScript `RegExp`. */
export interface RegExpSource {
  readonly source: string
  readonly flags: string
  /** The names of the JavaScript groups of each group of the pattern; several after a branch reset. */
  readonly groupNames: ReadonlyMap<number, readonly string[]>
  /** The names of the empty groups that mark the positions of `\K`. */
  readonly keepGroups: readonly string[]
}

/** Translates a pattern to `RegExp`. All groups are named, because emulated atomic groups add groups. */
export function toRegExpSource(root: Node): RegExpSource {
  const groupNames = nameGroups(root)
  const emitter = new RegExpEmitter(groupNames, findUnsetReferences(root))
  const source = emitter.emit(root, false)
  return { source, flags: emitter.isCaseless ? 'iu' : 'u', groupNames, keepGroups: emitter.keepGroups }
}

class RegExpEmitter {
  isCaseless = false
  readonly keepGroups: string[] = []
  private readonly groupNames: ReadonlyMap<number, readonly string[]>
  private readonly mayBeUnset: ReadonlySet<Node>
  private readonly emittedCaptures = new Map<number, number>()
  private atomicCount = 0

  constructor(groupNames: ReadonlyMap<number, readonly string[]>, mayBeUnset: ReadonlySet<Node>) {
    this.groupNames = groupNames
    this.mayBeUnset = mayBeUnset
  }

  /** `behind` is true inside a look-behind, which JavaScript matches from right to left. */
  emit(node: Node, behind: boolean): string {
    switch (node.type) {
      case 'character':
        return formatCodePoint(node.code)
      case 'set':
        return formatSet(node.items, node.negated)
      case 'sequence':
        return node.parts.map((part) => this.emit(part, behind)).join('')
      case 'alternation':
        return `(?:${node.branches.map((branch) => this.emit(branch, behind)).join('|')})`
      case 'capture':
        return this.emitCapture(node.index, node.body, behind)
      case 'atomic':
        return this.emitAtomic(this.emit(node.body, behind), behind)
      case 'quantifier':
        return this.emitQuantifier(node, behind)
      case 'look-around':
        return this.emitLookAround(node)
      case 'back-reference':
        this.isCaseless ||= node.caseless
        return this.emitBackReference(node.index, this.mayBeUnset.has(node))
      case 'group-test':
        return this.emitGroupTest(node.index, node.negated)
      case 'keep':
        return this.emitKeep()
      case 'assertion':
        return ASSERTIONS[node.kind]
      case 'subroutine-call':
      case 'recursion-test':
      case 'grapheme':
      case 'verb':
        throw new Error(`${node.type} cannot be translated`)
      default:
        return node satisfies never
    }
  }

  private emitBackReference(index: number, mayBeUnset: boolean): string {
    const reference = this.namesOf(index)
      .map((name) => `(?:\\k<${name}>)`)
      .join('')
    return mayBeUnset ? this.emitGroupTest(index, false) + reference : reference
  }

  /**
   * Tests whether a group is set. A reference to a group that is not set matches the empty string, and no
   * group of which this is tested can be empty; so a reference matches at the end of the text if and only if
   * the group is not set.
   */
  private emitGroupTest(index: number, negated: boolean): string {
    const tests = this.namesOf(index).map((name) => `(?=[^]*$(?!\\k<${name}>))`)
    const isSet = `(?:${tests.join('|')})`
    return negated ? `(?!${isSet})` : isSet
  }

  private namesOf(index: number): readonly string[] {
    return this.groupNames.get(index) ?? []
  }

  private emitCapture(index: number, body: Node, behind: boolean): string {
    const count = this.emittedCaptures.get(index) ?? 0
    this.emittedCaptures.set(index, count + 1)
    return `(?<${this.groupNames.get(index)?.[count] ?? ''}>${this.emit(body, behind)})`
  }

  /**
   * Emulates an atomic group by a capturing look-ahead, which is atomic, and a back-reference to it. A
   * look-behind has a fixed width, so an atomic group in it is a plain group.
   */
  private emitAtomic(source: string, behind: boolean): string {
    if (behind) return `(?:${source})`
    this.atomicCount += 1
    const name = `atomic${this.atomicCount}`
    return `(?:(?=(?<${name}>${source}))\\k<${name}>)`
  }

  private emitQuantifier({ body, min, max, greediness }: Quantifier, behind: boolean): string {
    const bounds = max === Infinity ? `{${min},}` : `{${min},${max}}`
    const source = `(?:${this.emit(body, behind)})${bounds}`
    if (greediness === 'possessive') return this.emitAtomic(source, behind)
    return greediness === 'lazy' ? `${source}?` : source
  }

  private emitLookAround({ behind, negated, body }: LookAround): string {
    return `(?:(?${behind ? '<' : ''}${negated ? '!' : '='}${this.emit(body, behind)}))`
  }

  private emitKeep(): string {
    const name = `keep${this.keepGroups.length}`
    this.keepGroups.push(name)
    return `(?<${name}>)`
  }
}

const WORD = '[0-9A-Za-z_]'
const UNICODE_WORD = '[\\p{L}\\p{N}_]'

const ASSERTIONS: Readonly<Record<AssertionKind, string>> = {
  'text-start': '(?:^)',
  'text-end': '(?:$)',
  'text-end-or-newline': '(?=\\n?$)',
  'line-start': '(?:^|(?<=\\n)(?!$))',
  'line-end': '(?=\\n|$)',
  'word-boundary': wordBoundary(WORD),
  'not-word-boundary': notWordBoundary(WORD),
  'unicode-word-boundary': wordBoundary(UNICODE_WORD),
  'not-unicode-word-boundary': notWordBoundary(UNICODE_WORD),
  // Implemented by the sticky flag.
  'search-start': '',
}

function wordBoundary(word: string): string {
  return `(?:(?<=${word})(?!${word})|(?<!${word})(?=${word}))`
}

function notWordBoundary(word: string): string {
  return `(?:(?<=${word})(?=${word})|(?<!${word})(?!${word}))`
}

/** A set in JavaScript's syntax. */
export function formatSet(items: readonly SetItem[], negated: boolean): string {
  return `[${negated ? '^' : ''}${items.map(formatItem).join('')}]`
}

function formatItem(item: SetItem): string {
  if ('property' in item) return `\\${item.negated ? 'P' : 'p'}{${item.property}}`
  return item.from === item.to
    ? formatCodePoint(item.from)
    : `${formatCodePoint(item.from)}-${formatCodePoint(item.to)}`
}

function formatCodePoint(code: number): string {
  const character = String.fromCodePoint(code)
  return /[A-Za-z0-9_ ]/.test(character) ? character : `\\u{${code.toString(16)}}`
}

/** Names every group, by its PCRE number. After a branch reset, several groups share a number. */
function nameGroups(root: Node): ReadonlyMap<number, readonly string[]> {
  const names = new Map<number, string[]>()
  addGroupNames(root, names)
  return names
}

function addGroupNames(node: Node, names: Map<number, string[]>): void {
  if (node.type === 'capture') {
    const others = names.get(node.index) ?? []
    names.set(node.index, [...others, `group${node.index}_${others.length}`])
  }
  for (const child of childrenOf(node)) addGroupNames(child, names)
}

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
