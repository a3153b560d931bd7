import RE2 from 're2'
import {
  alternationOf,
  canMatchEmpty,
  childrenOf,
  countPositions,
  EMPTY_NODE,
  estimateRe2CompileCost,
  NEVER_MATCHES,
  type Node,
  removeCaptures,
  sequenceOf,
  someNode,
} from './ast.ts'
import type { EngineMatcher, PatternMatch, ScannedText, ScanResult, SetPattern } from './pattern.ts'
import { toRe2Text } from './re2-matcher.ts'
import { toRe2Source } from './to-re2.ts'

/** RE2 takes about 5 ms to compile a pattern of this cost. */
const MAX_OPEN_COMPILE_COST = 10_000

/**
 * Compiles what finds the first index from which a match is still open: more text could begin, extend or
 * decide it. Undefined if RE2 cannot compile that, or not quickly.
 */
export function compileOpenMatch(root: Node): RE2 | undefined {
  const open = sequenceOf([toOpen(removeCaptures(root)), TEXT_END])
  if (estimateRe2CompileCost(open) > MAX_OPEN_COMPILE_COST) return undefined
  try {
    return new RE2(toRe2Source(open).source, 'u')
  } catch {
    // RE2 does not know a Unicode property of the pattern.
    return undefined
  }
}

/**
 * Builds a source for an `RE2.Set` that matches every text in which a match, or the open beginning of one,
 * has at least one character. Undefined if the pattern matches the empty string, or is too large.
 */
export function buildBeginning(root: Node): SetPattern | undefined {
  if (canMatchEmpty(root) || countPositions(root) > MAX_BEGINNING_POSITIONS) return undefined
  const beginning = toBeginning(removeCaptures(root))
  // Every character has an alternative, the end of the text, which costs more than a node of its own.
  const compileCost = 2 * estimateRe2CompileCost(beginning)
  if (compileCost > MAX_BEGINNING_COMPILE_COST) return undefined
  return { source: toRe2Source(beginning).source, compileCost }
}

/** Larger patterns would slow down the search for all of them. */
const MAX_BEGINNING_POSITIONS = 300
const MAX_BEGINNING_COMPILE_COST = 6000

const TEXT_END: Node = { type: 'assertion', kind: 'text-end' }
const NEWLINE: Node = { type: 'character', code: 0x0a }
const ANY_CHARACTER: Node = { type: 'set', items: [], negated: true }
const ANYTHING: Node = repeat(ANY_CHARACTER, Infinity)

function repeat(body: Node, max: number): Node {
  return { type: 'quantifier', body, min: 0, max, greediness: 'greedy' }
}

/**
 * Rewrites a pattern so that it also matches every beginning of a match, if the text ends there. Assertions
 * hold everywhere, since what follows may decide them; a look-ahead is open as long as it may look further.
 */
function toOpen(node: Node): Node {
  switch (node.type) {
    case 'character':
    case 'set':
      return alternationOf([node, TEXT_END])
    case 'sequence':
      return sequenceOf(node.parts.map(toOpen))
    case 'alternation':
      return alternationOf(node.branches.map(toOpen))
    case 'capture':
    case 'atomic':
      return toOpen(node.body)
    case 'quantifier':
      return { ...node, body: toOpen(node.body), greediness: 'greedy' }
    case 'assertion':
      if (node.kind === 'text-end') return node
      return node.kind === 'text-end-or-newline' ? sequenceOf([repeat(NEWLINE, 1), TEXT_END]) : EMPTY_NODE
    case 'look-around':
      if (node.behind)
        return childrenOf(node).some((child) => someNode(child, isLookAhead)) ? ANYTHING : EMPTY_NODE
      return alternationOf([sequenceOf([toOpen(node.body), TEXT_END]), EMPTY_NODE])
    case 'back-reference':
    case 'subroutine-call':
    case 'grapheme':
      return ANYTHING
    case 'group-test':
    case 'recursion-test':
    case 'keep':
    case 'verb':
      return EMPTY_NODE
    default:
      return node satisfies never
  }
}

/** Like `toOpen`, for beginnings that are not empty. */
function toBeginning(node: Node): Node {
  switch (node.type) {
    case 'character':
    case 'set':
      return node
    case 'sequence': {
      // The first character belongs to the first part that is not skipped.
      const first = node.parts.findIndex((part) => !canMatchEmpty(part))
      const starts = first === -1 ? node.parts : node.parts.slice(0, first + 1)
      return alternationOf(
        starts.map((part, index) =>
          sequenceOf([toBeginning(part), ...node.parts.slice(index + 1).map(toOpen)]),
        ),
      )
    }
    case 'alternation':
      return alternationOf(node.branches.map(toBeginning))
    case 'capture':
    case 'atomic':
      return toBeginning(node.body)
    case 'quantifier': {
      const rest = { ...node, min: Math.max(0, node.min - 1), max: node.max - 1 }
      return node.max === 0 ? NEVER_MATCHES : sequenceOf([toBeginning(node.body), toOpen(rest)])
    }
    case 'back-reference':
    case 'subroutine-call':
    case 'grapheme':
      return sequenceOf([ANY_CHARACTER, ANYTHING])
    default:
      return NEVER_MATCHES
  }
}

function isLookAhead(node: Node): boolean {
  return node.type === 'look-around' && !node.behind
}

/** Scans a text of which more will follow. `open` finds open matches; undefined: any text could be one. */
export function scanText(
  matcher: EngineMatcher,
  open: RE2 | undefined,
  { text, from, replacement }: ScannedText,
): ScanResult {
  const matches: PatternMatch[] = []
  let openFrom = findOpen(open, text, from)
  for (let position = from; ; ) {
    const match = matcher.find(text, position, replacement)
    if (match === undefined || match.foundAt >= openFrom) return { matches, openFrom, openMatch: match }
    matches.push(match)
    if (replacement === undefined) return { matches, openFrom, openMatch: undefined }
    position = match.end
    if (position > openFrom) openFrom = findOpen(open, text, position)
  }
}

/** The first index from which a match is open; the length of the text if there is none. */
export function findOpen(open: RE2 | undefined, text: string, from: number): number {
  if (open === undefined) return from
  const found = open.exec(toRe2Text(text.slice(from)))
  return found === null ? text.length : from + found.index
}
