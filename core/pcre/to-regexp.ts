import type { AssertionKind, Node, Repeat, SetItem } from './ast.ts'
import { childrenOf } from './ast.ts'

/** A pattern as JavaScript writes it. */
export interface RegExpSource {
  readonly source: string
  readonly flags: string
  /** The names of JavaScript's groups for each group of the pattern. */
  readonly slots: ReadonlyMap<number, readonly string[]>
  /** The empty groups that stand for `\K`. */
  readonly keeps: readonly string[]
}

/** Writes a pattern for `RegExp`; every group gets a name, as atomic groups need some of their own. */
export function writeRegExp(root: Node): RegExpSource {
  const writer = new RegExpWriter(nameGroups(root))
  const source = writer.write(root, false)
  return { source, flags: writer.isCaseless ? 'iu' : 'u', slots: writer.slots, keeps: writer.keeps }
}

class RegExpWriter {
  isCaseless = false
  readonly keeps: string[] = []
  readonly slots: ReadonlyMap<number, readonly string[]>
  private readonly written = new Map<number, number>()
  private atomics = 0

  constructor(slots: ReadonlyMap<number, readonly string[]>) {
    this.slots = slots
  }

  /** `behind` is true within a look-behind, which JavaScript matches from right to left. */
  write(node: Node, behind: boolean): string {
    switch (node.type) {
      case 'character':
        return writeCode(node.code)
      case 'set':
        return writeSet(node.items, node.negated)
      case 'sequence':
        return node.parts.map((part) => this.write(part, behind)).join('')
      case 'choice':
        return `(?:${node.branches.map((branch) => this.write(branch, behind)).join('|')})`
      case 'capture':
        return this.writeCapture(node.index, node.body, behind)
      case 'atomic':
        return this.writeAtomic(this.write(node.body, behind), behind)
      case 'repeat':
        return this.writeRepeat(node, behind)
      case 'look':
        return `(?:(?${node.behind ? '<' : ''}${node.negated ? '!' : '='}${this.write(node.body, node.behind)}))`
      case 'reference':
        this.isCaseless ||= node.caseless
        return (this.slots.get(node.index) ?? []).map((name) => `(?:\\k<${name}>)`).join('')
      case 'keep':
        return this.writeKeep()
      case 'assertion':
        return ASSERTIONS[node.kind]
      case 'call':
        return ''
      default:
        return node satisfies never
    }
  }

  private writeCapture(index: number, body: Node, behind: boolean): string {
    const at = this.written.get(index) ?? 0
    this.written.set(index, at + 1)
    return `(?<${this.slots.get(index)?.[at] ?? ''}>${this.write(body, behind)})`
  }

  /** A look-ahead is atomic; what it saw is then taken. In a look-behind, of fixed length, no choice is left anyway. */
  private writeAtomic(source: string, behind: boolean): string {
    if (behind) return `(?:${source})`
    this.atomics += 1
    const name = `atomic${this.atomics}`
    return `(?:(?=(?<${name}>${source}))\\k<${name}>)`
  }

  private writeRepeat({ body, min, max, greed }: Repeat, behind: boolean): string {
    const bounds = max === Infinity ? `{${min},}` : `{${min},${max}}`
    const source = `(?:${this.write(body, behind)})${bounds}`
    if (greed === 'possessive') return this.writeAtomic(source, behind)
    return greed === 'lazy' ? `${source}?` : source
  }

  private writeKeep(): string {
    const name = `keep${this.keeps.length}`
    this.keeps.push(name)
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
  'word-edge': edge(WORD),
  'not-word-edge': notEdge(WORD),
  'unicode-word-edge': edge(UNICODE_WORD),
  'not-unicode-word-edge': notEdge(UNICODE_WORD),
  // The sticky flag says it.
  'search-start': '',
}

function edge(word: string): string {
  return `(?:(?<=${word})(?!${word})|(?<!${word})(?=${word}))`
}

function notEdge(word: string): string {
  return `(?:(?<=${word})(?=${word})|(?<!${word})(?!${word}))`
}

function writeSet(items: readonly SetItem[], negated: boolean): string {
  return `[${negated ? '^' : ''}${items.map(writeItem).join('')}]`
}

function writeItem(item: SetItem): string {
  if ('property' in item) return `\\${item.negated ? 'P' : 'p'}{${item.property}}`
  return item.from === item.to ? writeCode(item.from) : `${writeCode(item.from)}-${writeCode(item.to)}`
}

function writeCode(code: number): string {
  const character = String.fromCodePoint(code)
  return /[A-Za-z0-9_ ]/.test(character) ? character : `\\u{${code.toString(16)}}`
}

/** A name for every group that is written, by the number PCRE gives it; after a branch reset a number has several. */
function nameGroups(root: Node): ReadonlyMap<number, readonly string[]> {
  const names = new Map<number, string[]>()
  addNames(root, names)
  return names
}

function addNames(node: Node, names: Map<number, string[]>): void {
  if (node.type === 'capture') {
    const taken = names.get(node.index) ?? []
    names.set(node.index, [...taken, `group${node.index}_${taken.length}`])
  }
  for (const child of childrenOf(node)) addNames(child, names)
}
