import {
  alternationOf,
  type CodePointRange,
  characterSet,
  type LookAround,
  mapChildren,
  NEVER_MATCHES,
  type Node,
  sequenceOf,
  someNode,
} from './ast.ts'
import { countPositions } from './compile-cost.ts'
import { complementRanges, mergeRanges } from './ranges.ts'

/**
 * Rewrites look-aheads about the characters that follow into alternatives without look-ahead, which RE2 can
 * run: `(?!00)\d{2}` becomes `[1-9]\d|0[1-9]`. The alternatives are disjoint and of one length, so the
 * matches stay the same. A look-ahead about anything else stays.
 */
export function expandLookAheads(root: Node): Node {
  if (!someNode(root, isLookAhead)) return root
  const expanded = expandNode(root)
  return countPositions(expanded) > MAX_POSITIONS ? root : expanded
}

/** Larger patterns are not part of the sets that are searched together. */
const MAX_POSITIONS = 250

function expandNode(node: Node): Node {
  const mapped = mapChildren(node, expandNode)
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
