import type { Node, Quantifier, SetItem } from './ast.ts'
import { canMatchEmpty, hasSingleMatch } from './node-properties.ts'

/** A pattern in RE2's syntax, with nothing left to flags. */
export interface Re2Source {
  readonly source: string
  /** False when RE2 cannot say it all; the source then matches every text that the pattern matches, and more. */
  readonly isExact: boolean
  /** RE2's groups for each group of the pattern: several after a branch reset. */
  readonly groups: ReadonlyMap<number, readonly number[]>
  /** Groups that hold a final newline which is no part of the match: `$` may stand before it. */
  readonly newlineGroups: readonly number[]
}

/** Writes a pattern for RE2. */
export function toRe2Source(root: Node): Re2Source {
  const writer = new Re2Emitter()
  const source = writer.emit(root, { canEnd: true, mustEnd: true, isCaptured: false, repeats: 1 })
  return { source, isExact: writer.isExact, groups: writer.groups, newlineGroups: writer.newlineGroups }
}

/** What follows a node and what surrounds it. */
interface EmitContext {
  /** The match may end here. */
  readonly canEnd: boolean
  /** The match must end here. */
  readonly mustEnd: boolean
  readonly isCaptured: boolean
  /** How often the repetitions around it repeat it. */
  readonly repeats: number
}

class Re2Emitter {
  isExact = true
  readonly groups = new Map<number, number[]>()
  readonly newlineGroups: number[] = []
  private groupCount = 0

  emit(node: Node, place: EmitContext): string {
    switch (node.type) {
      case 'character':
        return formatCodePoint(node.code)
      case 'set':
        return formatSet(node.items, node.negated)
      case 'sequence': {
        const places = contextsOf(node.parts, place)
        return node.parts.map((part, at) => this.emit(part, places[at] ?? place)).join('')
      }
      case 'alternation':
        return `(?:${node.branches.map((branch) => this.emit(branch, place)).join('|')})`
      case 'capture':
        return this.emitCapture(node.index, node.body, place)
      case 'quantifier':
        return this.emitQuantifier(node, place)
      case 'assertion':
        return this.emitAssertion(node.kind, place)
      case 'atomic':
        return hasSingleMatch(node.body)
          ? this.emit(node.body, place)
          : this.approximate(this.emit(node.body, { ...INSIDE, repeats: place.repeats }))
      case 'back-reference':
        return this.approximate('(?s:.*)')
      case 'look-around':
      case 'keep':
      case 'subroutine-call':
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

  private emitCapture(index: number, body: Node, place: EmitContext): string {
    this.groupCount += 1
    this.groups.set(index, [...(this.groups.get(index) ?? []), this.groupCount])
    return `(${this.emit(body, { ...place, isCaptured: true })})`
  }

  private emitQuantifier({ body, min, max, greediness: greed }: Quantifier, place: EmitContext): string {
    const repeats = place.repeats * Math.max(1, max === Infinity ? min : max)
    const inside = { ...(max <= 1 ? place : { ...INSIDE, canEnd: place.canEnd }), repeats }
    const source = `(?:${this.emit(body, inside)})`
    const isTooLong = repeats > MAX_RE2_REPETITIONS
    if (isTooLong || (greed === 'possessive' && !(min === max && hasSingleMatch(body)))) this.isExact = false
    return source + (isTooLong ? '*' : formatQuantifier(min, max)) + (greed === 'lazy' ? '?' : '')
  }

  private emitAssertion(kind: Extract<Node, { type: 'assertion' }>['kind'], place: EmitContext): string {
    switch (kind) {
      case 'text-start':
        return '\\A'
      case 'text-end':
        return '\\z'
      case 'text-end-or-newline':
        return this.emitTextEndOrNewline(place)
      case 'line-start':
        // In PCRE no line starts behind a final newline; it matters where nothing more has to be matched.
        return place.canEnd ? this.approximate('(?m:^)') : '(?m:^)'
      case 'line-end':
        return '(?m:$)'
      case 'word-boundary':
        return '\\b'
      case 'not-word-boundary':
        return '\\B'
      case 'search-start':
        return this.approximate('\\A')
      case 'unicode-word-boundary':
      case 'not-unicode-word-boundary':
        return this.approximate('')
      default:
        return kind satisfies never
    }
  }

  private emitTextEndOrNewline(place: EmitContext): string {
    if (!place.mustEnd || place.isCaptured) return this.approximate('')
    this.groupCount += 1
    this.newlineGroups.push(this.groupCount)
    return '(\\n?)\\z'
  }
}

/** RE2 repeats nothing more often, nested repetitions counted together. */
const MAX_RE2_REPETITIONS = 1000

const INSIDE: EmitContext = { canEnd: false, mustEnd: false, isCaptured: false, repeats: 1 }

/** The place of each part, found from the last to the first. */
function contextsOf(parts: readonly Node[], place: EmitContext): readonly EmitContext[] {
  const places: EmitContext[] = []
  let current = place
  for (const part of parts.toReversed()) {
    places.push(current)
    const canEnd = current.canEnd && canMatchEmpty(part)
    current = { ...current, canEnd, mustEnd: current.mustEnd && isEmptySequence(part) }
  }
  return places.toReversed()
}

function isEmptySequence(node: Node): boolean {
  return node.type === 'sequence' && node.parts.every(isEmptySequence)
}

function formatQuantifier(min: number, max: number): string {
  if (max === Infinity) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`
  if (min === 0 && max === 1) return '?'
  return min === max ? `{${min}}` : `{${min},${max}}`
}

function formatSet(items: readonly SetItem[], negated: boolean): string {
  if (items.length === 0) return negated ? '(?s:.)' : '[^\\x{0}-\\x{10FFFF}]'
  return `[${negated ? '^' : ''}${items.map(formatItem).join('')}]`
}

/** RE2's `C` lacks the code points that are not assigned. */
function formatItem(item: SetItem): string {
  if ('from' in item) {
    return item.from === item.to
      ? formatCodePoint(item.from)
      : `${formatCodePoint(item.from)}-${formatCodePoint(item.to)}`
  }
  const { property, negated } = item
  if (property === 'C') return negated ? '\\pL\\pM\\pN\\pP\\pS\\pZ' : '\\pC\\P{Assigned}'
  if (property === 'Cn') return negated ? '\\p{Assigned}' : '\\P{Assigned}'
  return `\\${negated ? 'P' : 'p'}{${property}}`
}

function formatCodePoint(code: number): string {
  const character = String.fromCodePoint(code)
  return /[A-Za-z0-9_ ]/.test(character) ? character : `\\x{${code.toString(16)}}`
}
