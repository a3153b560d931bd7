import RE2 from 're2'
import {
  canMatchEmpty,
  childrenOf,
  countPositions,
  estimateRe2CompileCost,
  fixedWidthOf,
  isSearchStart,
  type Node,
  sequenceOf,
  someNode,
} from './ast.ts'
import { createBacktrackingMatcher, isQuickToCompileInV8 } from './backtracking-matcher.ts'
import { caselessCharacter } from './case-folding.ts'
import { compileProgram } from './compile-program.ts'
import { createInterpretingMatcher } from './interpreting-matcher.ts'
import { lazy } from './lazy.ts'
import { type ParsedPattern, parsePattern } from './parse.ts'
import { parseDelimiters } from './parser-state.ts'
import {
  type EngineMatcher,
  type PatternAnalysis,
  PatternError,
  type PatternMatcher,
  type PatternSource,
  type ScannedText,
  type SetPattern,
} from './pattern.ts'
import { createPresetMatcher, foldTexts } from './preset-matcher.ts'
import type { Preset } from './presets/preset.ts'
import { findPreset } from './presets/presets.ts'
import {
  type CandidateFinder,
  createCandidateFinder,
  createRe2Matcher,
  EVERY_POSITION,
} from './re2-matcher.ts'
import { findRequiredLiteral } from './required-literal.ts'
import { cutAtBackReference, expandCalls, expandLookAheads, removeEmptyMatches } from './rewrite.ts'
import { buildBeginning, compileOpenMatch, findOpen, scanText } from './scan.ts'
import { type Re2Source, toRe2Source } from './to-re2.ts'
import { needsInterpreter, toRegExpSource } from './to-regexp.ts'

/** Parses and translates a pattern, without compiling it. Takes milliseconds for a long one. */
export function analyzePattern(source: PatternSource): PatternAnalysis {
  try {
    const { root, re2Root, re2Source, isExact } = translatePattern(source)
    if (!isExact && !needsInterpreter(root) && !isQuickToCompileInV8(root))
      throw new PatternError('The pattern is too large to compile')
    return {
      engine: isExact ? 're2' : 'backtracking',
      positions: countPositions(re2Root),
      compileCost: estimateRe2CompileCost(re2Root),
      ...(re2Source && { re2SetSource: re2Source.source, literal: findRequiredLiteral(re2Root) }),
    }
  } catch (error) {
    if (error instanceof PatternError) return { error: error.message }
    throw error
  }
}

/** Creates the matcher of a pattern. Throws a `PatternError` if it cannot be evaluated. */
export function createMatcher(source: PatternSource): PatternMatcher {
  const translated = translatePattern(source)
  const { root, re2Root, re2Source, isExact, preset } = translated
  const finder =
    re2Source && createCandidateFinder(re2Source.source, toRe2Source(cutAtBackReference(re2Root)).source)
  const matcher = createEngineMatcher(translated, finder)
  const open = lazy(() => compileOpenMatch(root))
  const scan = (scanned: ScannedText) => scanText(matcher, open(), scanned)
  const patternMatcher: PatternMatcher = {
    ...matcher,
    scan,
    scanInRe2(scanned) {
      if (isExact) return scan(scanned)
      const { text, from } = scanned
      // The character in front decides word boundaries and line starts.
      if (finder === undefined || finder.test(text.slice(Math.max(0, from - 2)))) return undefined
      return { matches: [], openFrom: findOpen(open(), text, from), openMatch: undefined }
    },
  }
  return preset === undefined ? patternMatcher : foldTexts(patternMatcher)
}

function createEngineMatcher(
  { root, groupBodies, re2Root, re2Source, isExact, preset }: TranslatedPattern,
  finder: CandidateFinder | undefined,
): EngineMatcher {
  if (preset !== undefined) return createPresetMatcher(preset, compileForPreset(root), finder)
  const createBacktracking = () =>
    needsInterpreter(root)
      ? createInterpretingMatcher(compileProgram(root, groupBodies), toCandidates(root, finder))
      : createBacktrackingMatcher(root, finder)
  if (re2Source === undefined || !isExact) return createBacktracking()
  return createRe2Matcher({
    re2Source,
    buildNonEmptySource() {
      const nonEmpty = removeEmptyMatches(re2Root)
      const translated = nonEmpty && toRe2Source(nonEmpty)
      return translated?.isExact ? translated : undefined
    },
    createFallback: createBacktracking,
  })
}

/**
 * Where a match may begin depends on earlier searches with `\G`, and on all positions before it with
 * `(*SKIP)` and `(*COMMIT)`.
 */
function toCandidates(root: Node, finder = EVERY_POSITION): CandidateFinder {
  return someNode(root, dependsOnSearch) ? { ...EVERY_POSITION, test: finder.test } : finder
}

function dependsOnSearch(node: Node): boolean {
  return isSearchStart(node) || (node.type === 'verb' && (node.verb === 'skip' || node.verb === 'commit'))
}

/** Describes where a pattern may begin; see `buildBeginning`. */
export function analyzeBeginning(source: PatternSource): SetPattern | undefined {
  const { root, re2Source } = translatePattern(source)
  return re2Source && buildBeginning(root)
}

const MAX_PATTERN_LENGTH = 10_000

/** RE2 takes about 5 ms to compile a pattern of this cost. */
const MAX_RE2_COMPILE_COST = 10_000

interface TranslatedPattern extends ParsedPattern {
  /** The same pattern with fewer look-aheads, for RE2. */
  readonly re2Root: Node
  /** Undefined if RE2 cannot compile the pattern, or not quickly. */
  readonly re2Source: Re2Source | undefined
  /** Whether RE2 gives the same result as the pattern. */
  readonly isExact: boolean
  readonly preset?: Preset | undefined
}

function compileForPreset(root: Node): RegExp {
  const { source, flags } = toRegExpSource(root)
  return new RegExp(source, `${flags}g`)
}

function translatePattern(source: PatternSource): TranslatedPattern {
  if (source.text.length > MAX_PATTERN_LENGTH)
    throw new PatternError(`The pattern is longer than ${MAX_PATTERN_LENGTH} characters`)
  const preset = source.kind === 'preset' ? findPreset(source.text) : undefined
  if (source.kind === 'preset' && preset === undefined)
    throw new PatternError(`There is no preset named ${source.text}`)
  const { root, groupBodies } =
    source.kind === 'literal' ? toLiteral(source.text) : toSyntaxTree(preset?.pattern ?? source.text)
  const re2Root = expandLookAheads(root)
  const re2Source = toRe2Source(re2Root)
  const canRunInRe2 =
    estimateRe2CompileCost(re2Root) <= MAX_RE2_COMPILE_COST &&
    !someNode(root, isAccept) &&
    isAcceptedByRe2(re2Root, re2Source)
  return {
    root,
    groupBodies,
    re2Root,
    re2Source: canRunInRe2 ? re2Source : undefined,
    // RE2 does not check what a preset validates.
    isExact: canRunInRe2 && re2Source.isExact && preset === undefined,
    preset,
  }
}

/** What follows `(*ACCEPT)` is optional, which an over-approximation does not show. */
function isAccept(node: Node): boolean {
  return node.type === 'verb' && node.verb === 'accept'
}

function toLiteral(text: string): ParsedPattern {
  const letters = [...text].map((letter) => caselessCharacter(letter.codePointAt(0) ?? 0))
  return { root: sequenceOf(letters), groupBodies: new Map() }
}

function toSyntaxTree(pattern: string): ParsedPattern {
  const { body, modifiers } = parseDelimiters(pattern)
  const parsed = parsePattern(body, modifiers)
  const expanded = { ...parsed, root: expandCalls(parsed) ?? parsed.root }
  validatePattern(expanded)
  return expanded
}

/** RE2 can only reject a translated pattern for a Unicode property that it does not know. */
function isAcceptedByRe2(root: Node, { source }: Re2Source): boolean {
  const hasProperty = (node: Node) => node.type === 'set' && node.items.some((item) => 'property' in item)
  if (!someNode(root, hasProperty)) return true
  try {
    new RE2(source, 'u')
    return true
  } catch {
    return false
  }
}

/** Throws a `PatternError` for what PCRE rejects and for what no engine can run as PCRE does. */
function validatePattern({ root, groupBodies }: ParsedPattern): void {
  if (countPositions(root) > MAX_POSITIONS)
    throw new PatternError(
      `The pattern has more than ${MAX_POSITIONS} elements once its repetitions are expanded`,
    )
  validateLookArounds(root)
  validateCommit(root)
  if (!someNode(root, isCall)) return
  for (const body of groupBodies.values()) validateLookArounds(body)
  validateRecursion(root, groupBodies)
}

function isCall({ type }: Node): boolean {
  return type === 'subroutine-call'
}

/** No engine compiles larger patterns in reasonable time. */
const MAX_POSITIONS = 30_000

function validateLookArounds(node: Node): void {
  childrenOf(node).forEach(validateLookArounds)
  if (node.type !== 'look-around') return
  if (!node.behind) return
  const branches = node.body.type === 'alternation' ? node.body.branches : [node.body]
  if (branches.some((branch) => fixedWidthOf(branch) === undefined))
    throw new PatternError('A branch of a look-behind does not have a fixed length')
}

/**
 * PCRE does not try to match where no first character of the pattern is, so whether it reaches a `(*COMMIT)`
 * there depends on its optimizations.
 */
function validateCommit(root: Node): void {
  const isCommit = (node: Node) => node.type === 'verb' && node.verb === 'commit'
  const isInLookAround = (node: Node) => node.type === 'look-around' && someNode(node.body, isCommit)
  if (someNode(root, isInLookAround) || firstNodes(root, isCommit).size > 0)
    throw new PatternError('(*COMMIT) is supported only after a character, outside of look-around')
}

/** A group that calls itself before it has matched a character would never end. */
function validateRecursion(root: Node, groupBodies: ReadonlyMap<number, Node>): void {
  const bodies = new Map([...groupBodies, [0, root]])
  const finished = new Set<number>()
  const visit = (index: number, callers: readonly number[]): void => {
    if (finished.has(index)) return
    if (callers.includes(index))
      throw new PatternError('A group that calls itself before it matches a character is not supported')
    const body = bodies.get(index)
    if (body === undefined) throw new PatternError(`Group ${index} does not exist`)
    for (const call of firstNodes(body, isCall))
      if (call.type === 'subroutine-call') visit(call.index, [...callers, index])
    finished.add(index)
  }
  for (const index of bodies.keys()) visit(index, [])
}

/** The nodes of a kind that a node may reach before it has matched a character. */
function firstNodes(node: Node, isWanted: (node: Node) => boolean): ReadonlySet<Node> {
  if (isWanted(node)) return new Set([node])
  const found = new Set<Node>()
  for (const child of childrenOf(node)) {
    for (const each of firstNodes(child, isWanted)) found.add(each)
    if (node.type === 'sequence' && !canMatchEmpty(child)) break
  }
  return found
}
