import {
  alternationOf,
  type CodePointRange,
  canMatchEmpty,
  characterSet,
  childrenOf,
  countPositions,
  EMPTY_NODE,
  hasSingleMatch,
  isZeroWidth,
  type LookAround,
  mapChildren,
  NEVER_MATCHES,
  type Node,
  removeCaptures,
  sequenceOf,
  someNode,
} from './ast.ts'
import { complementRanges, mergeRanges } from './character-sets.ts'
import type { ParsedPattern } from './parse.ts'

/**
 * Rewrites a pattern so that it never matches the empty string, with the same order of preference. A mask
 * ignores empty matches, and after an empty match PCRE searches for a non-empty one at the same position;
 * searching with the rewritten pattern does both. Returns undefined if the pattern would grow too much.
 */
export function removeEmptyMatches(root: Node): Node | undefined {
  if (!canMatchEmpty(root)) return root
  return countEmptiable(root) > MAX_EMPTIABLE_NODES ? undefined : toNonEmpty(root)
}

/** The size of the rewritten pattern is quadratic in the number of nodes that can match the empty string. */
const MAX_EMPTIABLE_NODES = 60

function countEmptiable(node: Node): number {
  return childrenOf(node).reduce((sum, child) => sum + countEmptiable(child), canMatchEmpty(node) ? 1 : 0)
}

function toNonEmpty(node: Node): Node {
  if (!canMatchEmpty(node)) return node
  switch (node.type) {
    case 'sequence':
      return toNonEmptySequence(node.parts)
    case 'alternation':
      return alternationOf(node.branches.map(toNonEmpty))
    case 'capture':
      return { ...node, body: toNonEmpty(node.body) }
    case 'quantifier':
      return node.max === 0 ? NEVER_MATCHES : { ...node, body: toNonEmpty(node.body), min: 1 }
    case 'atomic':
      if (isZeroWidth(node.body)) return NEVER_MATCHES
      return hasSingleMatch(node.body) ? { ...node, body: toNonEmpty(node.body) } : node
    case 'back-reference':
      return node
    default:
      return NEVER_MATCHES
  }
}

/** Either the first part consumes something, or it matches the empty string and one of the others does. */
function toNonEmptySequence(parts: readonly Node[]): Node {
  const [first, ...others] = parts
  if (first === undefined) return NEVER_MATCHES
  const rest = sequenceOf(others)
  const firstEmpty = sequenceOf([toEmptyOnly(first), toNonEmpty(rest)])
  if (isZeroWidth(first)) return firstEmpty
  const firstNonEmpty = sequenceOf([toNonEmpty(first), rest])
  return alternationOf(prefersEmpty(first) ? [firstEmpty, firstNonEmpty] : [firstNonEmpty, firstEmpty])
}

/** Rewrites a node so that it only matches the empty string. */
function toEmptyOnly(node: Node): Node {
  switch (node.type) {
    case 'character':
    case 'set':
      return NEVER_MATCHES
    case 'sequence':
      return sequenceOf(node.parts.map(toEmptyOnly))
    case 'alternation':
      return alternationOf(node.branches.filter(canMatchEmpty).map(toEmptyOnly))
    case 'capture':
      return { ...node, body: toEmptyOnly(node.body) }
    case 'quantifier':
      return node.min === 0 ? EMPTY_NODE : toEmptyOnly(node.body)
    default:
      return node
  }
}

/** Whether the node tries to match the empty string first. */
function prefersEmpty(node: Node): boolean {
  if (node.type === 'quantifier')
    return node.greediness === 'lazy' && (node.min === 0 || prefersEmpty(node.body))
  if (node.type === 'alternation') return node.branches[0] !== undefined && canMatchEmpty(node.branches[0])
  return false
}

/**
 * Cuts a pattern at its first back-reference, call or `\X`. The rest of the pattern cannot be searched
 * without the engine that knows these, and where a match may begin is decided by what comes before.
 */
export function cutAtBackReference(root: Node): Node {
  return cut(root).node
}

interface CutNode {
  readonly node: Node
  /** Whether what follows the node is cut off, too. */
  readonly isCut: boolean
}

function cut(node: Node): CutNode {
  switch (node.type) {
    case 'back-reference':
    case 'subroutine-call':
      return { node: EMPTY_NODE, isCut: true }
    case 'grapheme':
      return { node: characterSet([], true), isCut: true }
    case 'group-test':
    case 'recursion-test':
      return { node: EMPTY_NODE, isCut: false }
    case 'sequence':
      return cutSequence(node.parts)
    case 'alternation': {
      const branches = node.branches.map(cut)
      return {
        node: alternationOf(branches.map((each) => each.node)),
        isCut: branches.some(({ isCut }) => isCut),
      }
    }
    case 'capture':
    case 'atomic': {
      const body = cut(node.body)
      return { node: { ...node, body: body.node }, isCut: body.isCut }
    }
    case 'quantifier': {
      const body = cut(node.body)
      if (!body.isCut) return { node, isCut: false }
      return { node: node.min === 0 ? EMPTY_NODE : body.node, isCut: true }
    }
    default:
      return { node, isCut: false }
  }
}

function cutSequence(parts: readonly Node[]): CutNode {
  const kept: Node[] = []
  for (const part of parts) {
    const { node, isCut } = cut(part)
    kept.push(node)
    if (isCut) return { node: sequenceOf(kept), isCut }
  }
  return { node: sequenceOf(parts), isCut: false }
}

/**
 * Replaces each subroutine call, such as `(?1)` or `(?&name)`, with the body of the called group. Returns
 * undefined if only the interpreter can run the calls: for recursion, references in a called group, and
 * bodies that would make the pattern too large.
 */
export function expandCalls({ root, groupBodies }: ParsedPattern): Node | undefined {
  return someNode(root, isSubroutineCall) ? expandCall(root, groupBodies, []) : root
}

/** Limits how much subroutine calls can enlarge a pattern. */
const MAX_CALLED_POSITIONS = 2000

function expandCall(
  node: Node,
  bodies: ReadonlyMap<number, Node>,
  callers: readonly number[],
): Node | undefined {
  if (node.type !== 'subroutine-call') {
    const inner = node.type === 'capture' ? [...callers, node.index] : callers
    let isExpanded = true
    const expanded = mapChildren(node, (child) => {
      const result = isExpanded ? expandCall(child, bodies, inner) : undefined
      isExpanded &&= result !== undefined
      return result ?? child
    })
    return isExpanded ? expanded : undefined
  }
  const body = bodies.get(node.index)
  if (body === undefined || callers.includes(node.index)) return undefined
  if (someNode(body, dependsOnCall)) return undefined
  const expanded = expandCall(body, bodies, [...callers, node.index])
  if (expanded === undefined || countPositions(expanded) > MAX_CALLED_POSITIONS) return undefined
  return removeCaptures(expanded)
}

const CALL_DEPENDENT: readonly Node['type'][] = ['back-reference', 'group-test', 'recursion-test', 'verb']

/** Whether a node in a called group differs from its copy in place of the call. */
function dependsOnCall({ type }: Node): boolean {
  return CALL_DEPENDENT.includes(type)
}

function isSubroutineCall(node: Node): boolean {
  return node.type === 'subroutine-call'
}

/**
 * Rewrites look-aheads about the characters that follow into alternatives without look-ahead, which RE2 can
 * run: `(?!00)\d{2}` becomes `[1-9]\d|0[1-9]`. The alternatives are disjoint and of one length, so the
 * matches stay the same. A look-ahead about anything else stays.
 */
export function expandLookAheads(root: Node): Node {
  if (!someNode(root, isLookAhead)) return root
  const expanded = expandLookAheadsIn(root)
  return countPositions(expanded) > MAX_POSITIONS ? root : expanded
}

/** Larger patterns are not part of the sets that are searched together. */
const MAX_POSITIONS = 250

function expandLookAheadsIn(node: Node): Node {
  const mapped = mapChildren(node, expandLookAheadsIn)
  return mapped.type === 'sequence' && mapped.parts.some(isLookAhead) ? expandSequence(mapped.parts) : mapped
}

/** More alternatives would make the automaton slow. */
const MAX_ALTERNATIVES = 40

const MAX_WINDOW = 16

function expandSequence(parts: readonly Node[]): Node {
  const expanded: Node[] = []
  for (let index = 0; index < parts.length; ) {
    const lookAheads = takeLookAheads(parts, index)
    const next = index + lookAheads.length
    const result = lookAheads.length === 0 ? undefined : expandBefore(lookAheads, parts.slice(next))
    if (result !== undefined) return sequenceOf([...expanded, ...result])
    expanded.push(...parts.slice(index, Math.max(next, index + 1)))
    index = Math.max(next, index + 1)
  }
  return sequenceOf(expanded)
}

/** The characters that a look-ahead is about, position by position; for each branch. */
type Branch = readonly Characters[]
type Characters = readonly CodePointRange[]

function takeLookAheads(parts: readonly Node[], from: number): readonly LookAround[] {
  const found: LookAround[] = []
  for (let part = parts[from]; part !== undefined && isLookAhead(part); part = parts[from + found.length])
    found.push(part)
  return found
}

function isLookAhead(node: Node): node is LookAround {
  return node.type === 'look-around' && !node.behind
}

/** Undefined if none of the look-aheads can be expanded. */
function expandBefore(lookAheads: readonly LookAround[], rest: readonly Node[]): readonly Node[] | undefined {
  const branches = new Map(lookAheads.map((lookAhead) => [lookAhead, branchesOf(lookAhead)] as const))
  const lengths = [...branches.values()].flatMap((list) => list?.map(({ length }) => length) ?? [])
  const { window, after } = takeWindow(rest, Math.max(0, ...lengths))
  const kept: LookAround[] = []
  let alternatives: readonly Branch[] = [window]
  for (const [lookAhead, list] of branches) {
    const isCovered = list?.every(({ length }) => length > 0 && length <= window.length)
    const narrowed = isCovered && list ? narrow(alternatives, list, lookAhead.negated) : undefined
    if (narrowed === undefined || narrowed.length > MAX_ALTERNATIVES) kept.push(lookAhead)
    else alternatives = narrowed
  }
  if (kept.length === lookAheads.length) return undefined
  const sequences = alternatives.map((sets) => sequenceOf(sets.map((items) => characterSet(items))))
  const followed = sequences.length === 0 ? NEVER_MATCHES : alternationOf(sequences)
  const remaining = expandSequence(after)
  return [...kept, followed, ...(remaining.type === 'sequence' ? remaining.parts : [remaining])]
}

/** The branches of a look-ahead; undefined if one of them is more than a row of characters. */
function branchesOf({ body }: LookAround): readonly Branch[] | undefined {
  const nodes = body.type === 'alternation' ? body.branches : [body]
  const branches = nodes.map((node) => {
    const { window, after } = takeWindow(node.type === 'sequence' ? node.parts : [node], MAX_WINDOW)
    return after.length === 0 ? window : undefined
  })
  return branches.every((branch) => branch !== undefined) ? branches : undefined
}

/** Takes up to `length` characters from the start of a sequence. */
function takeWindow(
  parts: readonly Node[],
  length: number,
): { readonly window: Branch; readonly after: readonly Node[] } {
  const window: Characters[] = []
  const pending = [...parts]
  while (window.length < length) {
    const part = pending.shift()
    if (part === undefined) break
    const characters = charactersOf(part)
    if (characters !== undefined) window.push(characters)
    else if (part.type === 'sequence') pending.unshift(...part.parts)
    else if (part.type === 'quantifier' && part.min > 0 && charactersOf(part.body) !== undefined) {
      const { min, max } = part
      pending.unshift(part.body, ...(max === 1 ? [] : [{ ...part, min: min - 1, max: max - 1 }]))
    } else {
      pending.unshift(part)
      break
    }
  }
  return { window, after: pending }
}

/** Undefined for anything but a single character of known code points. */
function charactersOf(node: Node): Characters | undefined {
  if (node.type === 'character') return [{ from: node.code, to: node.code }]
  if (node.type !== 'set') return undefined
  const ranges = node.items.filter((item) => 'from' in item)
  if (ranges.length < node.items.length) return undefined
  return node.negated ? complementRanges(ranges) : mergeRanges(ranges)
}

function narrow(alternatives: readonly Branch[], branches: readonly Branch[], isNegated: boolean) {
  if (isNegated) {
    return branches.reduce(
      (remaining, branch) => remaining.flatMap((alternative) => subtract(alternative, branch)),
      alternatives,
    )
  }
  // The branches may overlap, so what one of them matched is left to it.
  const found: Branch[] = []
  let remaining = alternatives
  for (const branch of branches) {
    found.push(...remaining.flatMap((alternative) => intersect(alternative, branch)))
    remaining = remaining.flatMap((alternative) => subtract(alternative, branch))
  }
  return found
}

/** At most one row. */
function intersect(row: Branch, branch: Branch): readonly Branch[] {
  const common = row.map((characters, index) => intersectRanges(characters, branch[index]))
  return common.some(({ length }) => length === 0) ? [] : [common]
}

/** Splits a row by the first position at which it differs from the branch. */
function subtract(row: Branch, branch: Branch): readonly Branch[] {
  const pieces: Branch[] = []
  const before: Characters[] = []
  for (const [index, characters] of branch.entries()) {
    const here = row[index] ?? []
    const different = intersectRanges(here, complementRanges(characters))
    if (different.length > 0) pieces.push([...before, different, ...row.slice(index + 1)])
    const same = intersectRanges(here, characters)
    if (same.length === 0) return pieces
    before.push(same)
  }
  return pieces
}

/** With nothing to intersect with, the ranges stay. */
function intersectRanges(a: Characters, b: Characters | undefined): Characters {
  return b === undefined ? a : complementRanges([...complementRanges(a), ...complementRanges(b)])
}
