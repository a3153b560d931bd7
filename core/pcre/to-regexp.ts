import {
  type AssertionKind,
  childrenOf,
  type LookAround,
  type Node,
  type Quantifier,
  type SetItem,
} from './ast.ts'
import { findUnsetReferences } from './group-references.ts'

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
