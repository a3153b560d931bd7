import type { AssertionKind, Node, Quantifier, SetItem } from './ast.ts'
import { childrenOf } from './ast.ts'

/** A pattern as JavaScript writes it. */
export interface RegExpSource {
  readonly source: string
  readonly flags: string
  /** The names of JavaScript's groups for each group of the pattern. */
  readonly groupNames: ReadonlyMap<number, readonly string[]>
  /** The empty groups that stand for `\K`. */
  readonly keepGroups: readonly string[]
}

/** Writes a pattern for `RegExp`; every group gets a name, as atomic groups need some of their own. */
export function toRegExpSource(root: Node): RegExpSource {
  const writer = new RegExpEmitter(nameGroups(root))
  const source = writer.emit(root, false)
  return {
    source,
    flags: writer.isCaseless ? 'iu' : 'u',
    groupNames: writer.groupNames,
    keepGroups: writer.keepGroups,
  }
}

class RegExpEmitter {
  isCaseless = false
  readonly keepGroups: string[] = []
  readonly groupNames: ReadonlyMap<number, readonly string[]>
  private readonly emittedCaptures = new Map<number, number>()
  private atomicCount = 0

  constructor(slots: ReadonlyMap<number, readonly string[]>) {
    this.groupNames = slots
  }

  /** `behind` is true within a look-behind, which JavaScript matches from right to left. */
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
        return `(?:(?${node.behind ? '<' : ''}${node.negated ? '!' : '='}${this.emit(node.body, node.behind)}))`
      case 'back-reference':
        this.isCaseless ||= node.caseless
        return (this.groupNames.get(node.index) ?? []).map((name) => `(?:\\k<${name}>)`).join('')
      case 'keep':
        return this.emitKeep()
      case 'assertion':
        return ASSERTIONS[node.kind]
      case 'subroutine-call':
        return ''
      default:
        return node satisfies never
    }
  }

  private emitCapture(index: number, body: Node, behind: boolean): string {
    const at = this.emittedCaptures.get(index) ?? 0
    this.emittedCaptures.set(index, at + 1)
    return `(?<${this.groupNames.get(index)?.[at] ?? ''}>${this.emit(body, behind)})`
  }

  /** A look-ahead is atomic; what it saw is then taken. In a look-behind, of fixed length, no choice is left anyway. */
  private emitAtomic(source: string, behind: boolean): string {
    if (behind) return `(?:${source})`
    this.atomicCount += 1
    const name = `atomic${this.atomicCount}`
    return `(?:(?=(?<${name}>${source}))\\k<${name}>)`
  }

  private emitQuantifier({ body, min, max, greediness: greed }: Quantifier, behind: boolean): string {
    const bounds = max === Infinity ? `{${min},}` : `{${min},${max}}`
    const source = `(?:${this.emit(body, behind)})${bounds}`
    if (greed === 'possessive') return this.emitAtomic(source, behind)
    return greed === 'lazy' ? `${source}?` : source
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
  // The sticky flag says it.
  'search-start': '',
}

function wordBoundary(word: string): string {
  return `(?:(?<=${word})(?!${word})|(?<!${word})(?=${word}))`
}

function notWordBoundary(word: string): string {
  return `(?:(?<=${word})(?=${word})|(?<!${word})(?!${word}))`
}

function formatSet(items: readonly SetItem[], negated: boolean): string {
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

/** A name for every group that is written, by the number PCRE gives it; after a branch reset a number has several. */
function nameGroups(root: Node): ReadonlyMap<number, readonly string[]> {
  const names = new Map<number, string[]>()
  addGroupNames(root, names)
  return names
}

function addGroupNames(node: Node, names: Map<number, string[]>): void {
  if (node.type === 'capture') {
    const taken = names.get(node.index) ?? []
    names.set(node.index, [...taken, `group${node.index}_${taken.length}`])
  }
  for (const child of childrenOf(node)) addGroupNames(child, names)
}
