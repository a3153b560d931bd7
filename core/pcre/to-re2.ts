import {
  type AssertionKind,
  canMatchEmpty,
  hasSingleMatch,
  type Node,
  type Quantifier,
  type SetItem,
} from './ast.ts'

/** A pattern in RE2's syntax that needs no flags. */
export interface Re2Source {
  readonly source: string
  /**
   * False if the source is an over-approximation: it matches every text that the pattern matches, and more.
   */
  readonly isExact: boolean
  /** The RE2 groups of each group of the pattern; several after a branch reset. */
  readonly groups: ReadonlyMap<number, readonly number[]>
  /** RE2 groups that capture a final newline after `$`. It is not part of the pattern's match. */
  readonly newlineGroups: readonly number[]
}

/** Translates a pattern to RE2. A pattern that RE2 cannot express is over-approximated. */
export function toRe2Source(root: Node): Re2Source {
  const emitter = new Re2Emitter()
  const source = emitter.emit(root, { canEnd: true, mustEnd: true, isCaptured: false, repetitions: 1 })
  const { isExact, groups, newlineGroups } = emitter
  return { source, isExact, groups, newlineGroups }
}

/** The surroundings of a node in the pattern. */
interface EmitContext {
  /** The match may end after the node. */
  readonly canEnd: boolean
  /** The match must end after the node. */
  readonly mustEnd: boolean
  readonly isCaptured: boolean
  /** The product of the enclosing quantifiers. */
  readonly repetitions: number
}

class Re2Emitter {
  isExact = true
  readonly groups = new Map<number, number[]>()
  readonly newlineGroups: number[] = []
  private groupCount = 0

  emit(node: Node, context: EmitContext): string {
    switch (node.type) {
      case 'character':
        return formatCodePoint(node.code)
      case 'set':
        return formatSet(node.items, node.negated)
      case 'sequence': {
        const contexts = contextsOf(node.parts, context)
        return node.parts.map((part, index) => this.emit(part, contexts[index] ?? context)).join('')
      }
      case 'alternation':
        return `(?:${node.branches.map((branch) => this.emit(branch, context)).join('|')})`
      case 'capture':
        return this.emitCapture(node.index, node.body, context)
      case 'quantifier':
        return this.emitQuantifier(node, context)
      case 'assertion':
        return this.emitAssertion(node.kind, context)
      case 'atomic':
        return hasSingleMatch(node.body)
          ? this.emit(node.body, context)
          : this.approximate(this.emit(node.body, { ...NOT_AT_END, repetitions: context.repetitions }))
      case 'back-reference':
      case 'subroutine-call':
        return this.approximate('(?s:.*)')
      case 'grapheme':
        return this.approximate('(?s:.+)')
      case 'verb':
        return this.approximate(node.verb === 'fail' ? NOTHING : '')
      case 'look-around':
      case 'group-test':
      case 'recursion-test':
      case 'keep':
        return this.approximate('')
      default:
        return node satisfies never
    }
  }

  /** Marks the result as an over-approximation. */
  private approximate(source: string): string {
    this.isExact = false
    return source
  }

  private emitCapture(index: number, body: Node, context: EmitContext): string {
    this.groupCount += 1
    this.groups.set(index, [...(this.groups.get(index) ?? []), this.groupCount])
    return `(${this.emit(body, { ...context, isCaptured: true })})`
  }

  private emitQuantifier({ body, min, max, greediness }: Quantifier, context: EmitContext): string {
    const repetitions = context.repetitions * Math.max(1, max === Infinity ? min : max)
    const bodyContext = { ...(max <= 1 ? context : { ...NOT_AT_END, canEnd: context.canEnd }), repetitions }
    const source = `(?:${this.emit(body, bodyContext)})`
    const exceedsLimit = repetitions > MAX_RE2_REPETITIONS
    if (exceedsLimit || (greediness === 'possessive' && !(min === max && hasSingleMatch(body))))
      this.isExact = false
    return source + (exceedsLimit ? '*' : formatQuantifier(min, max)) + (greediness === 'lazy' ? '?' : '')
  }

  private emitAssertion(kind: AssertionKind, context: EmitContext): string {
    switch (kind) {
      case 'text-start':
        return '\\A'
      case 'text-end':
        return '\\z'
      case 'text-end-or-newline':
        return this.emitTextEndOrNewline(context)
      case 'line-start':
        // In PCRE no line starts after a final newline. That matters if the match can end here.
        return context.canEnd ? this.approximate('(?m:^)') : '(?m:^)'
      case 'line-end':
        return '(?m:$)'
      case 'word-boundary':
        return '\\b'
      case 'not-word-boundary':
        return '\\B'
      case 'search-start':
        // Only the first search starts at the start of the text.
        return this.approximate('\\A')
      case 'unicode-word-boundary':
      case 'not-unicode-word-boundary':
        return this.approximate('')
      default:
        return kind satisfies never
    }
  }

  private emitTextEndOrNewline(context: EmitContext): string {
    if (!context.mustEnd || context.isCaptured) return this.approximate('')
    this.groupCount += 1
    this.newlineGroups.push(this.groupCount)
    return '(\\n?)\\z'
  }
}

const NOTHING = '[^\\x{0}-\\x{10FFFF}]'

/** RE2's limit for repetitions, with nested quantifiers multiplied. */
const MAX_RE2_REPETITIONS = 1000

const NOT_AT_END: EmitContext = { canEnd: false, mustEnd: false, isCaptured: false, repetitions: 1 }

/** Computes the context of each part of a sequence, from the last to the first. */
function contextsOf(parts: readonly Node[], context: EmitContext): readonly EmitContext[] {
  const contexts: EmitContext[] = []
  let current = context
  for (const part of parts.toReversed()) {
    contexts.push(current)
    const canEnd = current.canEnd && canMatchEmpty(part)
    const mustEnd = current.mustEnd && isEmptySequence(part)
    // A copy for every character of a long pattern would take most of the time of the translation.
    if (canEnd !== current.canEnd || mustEnd !== current.mustEnd) current = { ...current, canEnd, mustEnd }
  }
  return contexts.toReversed()
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
  if (items.length === 0) return negated ? '(?s:.)' : NOTHING
  return `[${negated ? '^' : ''}${items.map(formatItem).join('')}]`
}

/** RE2's category `C` does not include unassigned code points; PCRE's does. */
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
