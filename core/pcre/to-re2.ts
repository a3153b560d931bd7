import type { Node, Repeat, SetItem } from './ast.ts'
import { canBeEmpty, isRigid } from './node-properties.ts'

/** A pattern in RE2's syntax, with nothing left to flags. */
export interface Re2Source {
  readonly source: string
  /** False when RE2 cannot say it all; the source then matches every text that the pattern matches, and more. */
  readonly isExact: boolean
  /** RE2's groups for each group of the pattern: several after a branch reset. */
  readonly slots: ReadonlyMap<number, readonly number[]>
  /** Groups that hold a final newline which is no part of the match: `$` may stand before it. */
  readonly newlines: readonly number[]
}

/** Writes a pattern for RE2. */
export function writeRe2(root: Node): Re2Source {
  const writer = new Re2Writer()
  const source = writer.write(root, { canEnd: true, mustEnd: true, isCaptured: false, repeats: 1 })
  return { source, isExact: writer.isExact, slots: writer.slots, newlines: writer.newlines }
}

/** What follows a node and what surrounds it. */
interface Place {
  /** The match may end here. */
  readonly canEnd: boolean
  /** The match must end here. */
  readonly mustEnd: boolean
  readonly isCaptured: boolean
  /** How often the repetitions around it repeat it. */
  readonly repeats: number
}

class Re2Writer {
  isExact = true
  readonly slots = new Map<number, number[]>()
  readonly newlines: number[] = []
  private groups = 0

  write(node: Node, place: Place): string {
    switch (node.type) {
      case 'character':
        return writeCode(node.code)
      case 'set':
        return writeSet(node.items, node.negated)
      case 'sequence': {
        const places = placesOf(node.parts, place)
        return node.parts.map((part, at) => this.write(part, places[at] ?? place)).join('')
      }
      case 'choice':
        return `(?:${node.branches.map((branch) => this.write(branch, place)).join('|')})`
      case 'capture':
        return this.writeCapture(node.index, node.body, place)
      case 'repeat':
        return this.writeRepeat(node, place)
      case 'assertion':
        return this.writeAssertion(node.kind, place)
      case 'atomic':
        return isRigid(node.body)
          ? this.write(node.body, place)
          : this.approximate(this.write(node.body, { ...INSIDE, repeats: place.repeats }))
      case 'reference':
        return this.approximate('(?s:.*)')
      case 'look':
      case 'keep':
      case 'call':
        return this.approximate('')
      default:
        return node satisfies never
    }
  }

  /** Takes a source that says more than the pattern. */
  private approximate(source: string): string {
    this.isExact = false
    return source
  }

  private writeCapture(index: number, body: Node, place: Place): string {
    this.groups += 1
    this.slots.set(index, [...(this.slots.get(index) ?? []), this.groups])
    return `(${this.write(body, { ...place, isCaptured: true })})`
  }

  private writeRepeat({ body, min, max, greed }: Repeat, place: Place): string {
    const repeats = place.repeats * Math.max(1, max === Infinity ? min : max)
    const inside = { ...(max <= 1 ? place : { ...INSIDE, canEnd: place.canEnd }), repeats }
    const source = `(?:${this.write(body, inside)})`
    const isTooLong = repeats > MOST_REPEATS
    if (isTooLong || (greed === 'possessive' && !(min === max && isRigid(body)))) this.isExact = false
    return source + (isTooLong ? '*' : quantifier(min, max)) + (greed === 'lazy' ? '?' : '')
  }

  private writeAssertion(kind: Extract<Node, { type: 'assertion' }>['kind'], place: Place): string {
    switch (kind) {
      case 'text-start':
        return '\\A'
      case 'text-end':
        return '\\z'
      case 'text-end-or-newline':
        return this.writeFinalNewline(place)
      case 'line-start':
        // In PCRE no line starts behind a final newline; it matters where nothing more has to be matched.
        return place.canEnd ? this.approximate('(?m:^)') : '(?m:^)'
      case 'line-end':
        return '(?m:$)'
      case 'word-edge':
        return '\\b'
      case 'not-word-edge':
        return '\\B'
      case 'search-start':
        return this.approximate('\\A')
      case 'unicode-word-edge':
      case 'not-unicode-word-edge':
        return this.approximate('')
      default:
        return kind satisfies never
    }
  }

  private writeFinalNewline(place: Place): string {
    if (!place.mustEnd || place.isCaptured) return this.approximate('')
    this.groups += 1
    this.newlines.push(this.groups)
    return '(\\n?)\\z'
  }
}

/** RE2 repeats nothing more often, nested repetitions counted together. */
const MOST_REPEATS = 1000

const INSIDE: Place = { canEnd: false, mustEnd: false, isCaptured: false, repeats: 1 }

/** The place of each part, found from the last to the first. */
function placesOf(parts: readonly Node[], place: Place): readonly Place[] {
  const places: Place[] = []
  let current = place
  for (const part of parts.toReversed()) {
    places.push(current)
    const canEnd = current.canEnd && canBeEmpty(part)
    current = { ...current, canEnd, mustEnd: current.mustEnd && isNothing(part) }
  }
  return places.toReversed()
}

function isNothing(node: Node): boolean {
  return node.type === 'sequence' && node.parts.every(isNothing)
}

function quantifier(min: number, max: number): string {
  if (max === Infinity) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`
  if (min === 0 && max === 1) return '?'
  return min === max ? `{${min}}` : `{${min},${max}}`
}

function writeSet(items: readonly SetItem[], negated: boolean): string {
  if (items.length === 0) return negated ? '(?s:.)' : '[^\\x{0}-\\x{10FFFF}]'
  return `[${negated ? '^' : ''}${items.map(writeItem).join('')}]`
}

/** RE2's `C` lacks the code points that are not assigned. */
function writeItem(item: SetItem): string {
  if ('from' in item) {
    return item.from === item.to ? writeCode(item.from) : `${writeCode(item.from)}-${writeCode(item.to)}`
  }
  const { property, negated } = item
  if (property === 'C') return negated ? '\\pL\\pM\\pN\\pP\\pS\\pZ' : '\\pC\\P{Assigned}'
  if (property === 'Cn') return negated ? '\\p{Assigned}' : '\\P{Assigned}'
  return `\\${negated ? 'P' : 'p'}{${property}}`
}

function writeCode(code: number): string {
  const character = String.fromCodePoint(code)
  return /[A-Za-z0-9_ ]/.test(character) ? character : `\\x{${code.toString(16)}}`
}
