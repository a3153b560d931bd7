import type { ChatRequest } from '../../core/contract/index.ts'
import type { RewrittenDocuments } from '../../core/inspection/json-text.ts'
import { mapRequest, rewriteLongDocuments } from '../../core/inspection/map-request.ts'
import { documentTexts, hasDocuments, inspectedValues } from '../../core/inspection/request-texts.ts'
import type { PatternRun } from '../../core/patterns/pattern-run.ts'
import type { PatternMatch } from '../../core/pcre/pattern.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'
import type { CompiledFirewallRule } from './compile.ts'

/** What a mask rule does to a text. */
export interface Masking {
  replace(text: string): MaybePromise<string>
  matches(text: string): MaybePromise<boolean>
  /** Puts a character that stands for nothing in place of each match. */
  erase(text: string): MaybePromise<string>
  /** Whether any of a few short texts may change. */
  mayMatchAny(texts: readonly string[]): boolean
  /** Called between groups of texts, so that many texts do not hold the event loop. */
  pause(): Promise<void>
}

export interface MaskResult {
  /** The same object if nothing was replaced. */
  readonly request: ChatRequest
  /** A match remains that cannot be replaced, so the request must be refused. */
  readonly isIncomplete: boolean
}

/** Texts with their replacements, and the long JSON documents that were rewritten with them. */
interface Rewriting {
  readonly rewrite: (text: string) => string
  readonly rewrittenDocuments: RewrittenDocuments
}

/**
 * Replaces the matches of a text that masks have changed before. A match that the mask wrote itself, such as
 * in `[password removed]` for `password`, stays.
 */
export async function maskAgain(
  mask: Mask,
  text: string,
  run: PatternRun,
  written?: WrittenTexts,
): Promise<string> {
  const replaced = await mask.pattern.replace(text, mask.replacement, run)
  if (replaced === text || (written === undefined && !text.includes(mask.replacement.join(''))))
    return replaced
  await written?.read(run)
  const isWritten = written?.finderIn(text)
  const isKept = (match: PatternMatch) => isOwnText(text, match) || isWritten?.(match) === true
  const { output, spans } = await replaceMatches(mask, text, run, isKept)
  written?.keep(output, spans)
  return output
}

/** A part of a text, from `start` to `end`. */
interface Span {
  readonly start: number
  readonly end: number
}

/** Replaces the matches that are not empty and not kept. Returns where their results and those kept are. */
async function replaceMatches(
  { pattern, replacement }: Mask,
  text: string,
  run: PatternRun,
  isKept: (match: PatternMatch) => boolean,
): Promise<{ output: string; spans: readonly Span[] }> {
  const spans: Span[] = []
  const slice = createCooperativeYield()
  let output = ''
  let position = 0
  for (let from = 0; ; from = position) {
    const { matches, openMatch } = await pattern.scan({ text, from, replacement }, run)
    for (const match of openMatch === undefined ? matches : [...matches, openMatch]) {
      if (slice.isDue()) await slice.yieldNow()
      output += text.slice(position, match.start)
      const start = output.length
      output += isKept(match) ? text.slice(match.start, match.end) : match.replacement
      spans.push({ start, end: output.length })
      position = match.end
    }
    // Nothing follows the text, so what is open at its end is a match.
    if (openMatch === undefined) return { output: output + text.slice(position), spans }
  }
}

type Mask = Pick<CompiledFirewallRule, 'pattern' | 'replacement'>

/**
 * What a mask wrote whose replacement refers to groups: it may hold any match. What is put together of a
 * result and its neighbours is none of it.
 */
export class WrittenTexts {
  readonly #mask: Mask
  /** Texts whose spans are not known yet, by result. */
  readonly #masked = new Map<string, string>()
  readonly #spans = new Map<string, readonly Span[]>()
  readonly #results = new Set<string>()

  constructor(mask: Mask) {
    this.#mask = mask
  }

  /** Adds a text that was masked for the first time. */
  add(text: string, result: string): void {
    this.#masked.set(result, text)
  }

  /** Finds out what the mask wrote. Few requests need to know. */
  async read(run: PatternRun): Promise<void> {
    for (const [result, text] of this.#masked) {
      this.#masked.delete(result)
      const { output, spans } = await replaceMatches(this.#mask, text, run, () => false)
      // Matches that are empty have no spans.
      this.keep(result, output === result ? spans : [{ start: 0, end: result.length }])
    }
  }

  keep(text: string, spans: readonly Span[]): void {
    this.#spans.set(text, spans)
    for (const { start, end } of spans) this.#results.add(text.slice(start, end))
  }

  /** Returns a function that tells of each match in order whether the mask wrote it. */
  finderIn(text: string): (match: PatternMatch) => boolean {
    const spans = this.#spans.get(text) ?? []
    let index = 0
    return ({ start, end }) => {
      while ((spans[index]?.end ?? end) < end) index++
      const span = spans[index]
      if (span !== undefined && span.start <= start && end <= span.end) return true
      return this.#results.has(text.slice(start, end))
    }
  }
}

/**
 * Whether a match is a part of its own replacement, or of another text that the mask wrote, which stands in
 * the text already.
 */
export function isOwnText(text: string, match: PatternMatch, written: readonly string[] = []): boolean {
  return [match.replacement, ...written].some((own) => standsAround(text, match, own))
}

function standsAround(text: string, { start, end }: Span, own: string): boolean {
  const matched = text.slice(start, end)
  for (let at = own.indexOf(matched); at !== -1; at = own.indexOf(matched, at + 1))
    if (at <= start && text.startsWith(own, start - at)) return true
  return false
}

/** Whether a match at the end of a text can still turn out to be such a part. */
export function mayBecomeOwnText(
  text: string,
  match: PatternMatch,
  written: readonly string[] = [],
): boolean {
  return [match.replacement, ...written].some((own) => mayStandAround(text, match, own))
}

function mayStandAround(text: string, { start, end }: Span, own: string): boolean {
  const matched = text.slice(start, end)
  for (let at = own.indexOf(matched); at !== -1; at = own.indexOf(matched, at + 1)) {
    const from = start - at
    if (from >= 0 && from + own.length > text.length && own.startsWith(text.slice(from))) return true
  }
  return false
}

/** Replaces every match in the inspected values of a request. */
export async function maskRequest(request: ChatRequest, masking: Masking): Promise<MaskResult> {
  const values = await inspectedValues(request)
  const replacements = await replaceValues(values, masking)
  let isIncomplete = false
  const rewriting = await prepareRewriting(request, replacements)
  await masking.pause()
  const masked = mapRequest(request, {
    ...rewriting,
    refuse() {
      isIncomplete = true
    },
  })
  return {
    request: masked,
    isIncomplete: isIncomplete || (await hasUnreplaceableMatch(request, { values, replacements }, masking)),
  }
}

/** Searching several short values at once takes less time than each: most of them do not match. */
const MAX_GROUP = { values: 50, length: 2000 }

async function replaceValues(
  values: readonly string[],
  { replace, mayMatchAny, pause }: Masking,
): Promise<ReadonlyMap<string, string>> {
  const replacements = new Map<string, string>()
  for (let start = 0; start < values.length; ) {
    const group = takeGroup(values, start)
    start += group.length
    const mayMatch = group.length === 1 || mayMatchAny(group)
    for (const value of mayMatch ? group : []) {
      const replaced = replace(value)
      const result = typeof replaced === 'string' ? replaced : await replaced
      if (result !== value) replacements.set(value, result)
    }
    await pause()
  }
  return replacements
}

/** At least one value. */
function takeGroup(values: readonly string[], start: number): readonly string[] {
  let end = start + 1
  let length = values[start]?.length ?? 0
  for (; end < values.length && end - start < MAX_GROUP.values; end++) {
    length += values[end]?.length ?? 0
    if (length > MAX_GROUP.length) break
  }
  return values.slice(start, end)
}

async function prepareRewriting(
  request: ChatRequest,
  replacements: ReadonlyMap<string, string>,
): Promise<Rewriting> {
  const rewrite = (text: string) => replacements.get(text) ?? text
  return { rewrite, rewrittenDocuments: await rewriteLongDocuments(request, rewrite) }
}

/** The inspected values of a request, and what replaces some of them. */
interface MaskedValues {
  readonly values: readonly string[]
  readonly replacements: ReadonlyMap<string, string>
}

/**
 * Whether the pattern matches a document at a place that no replacement covers: across several values, or
 * across a value and the JSON syntax beside it. A match of nothing but the JSON syntax does not count, nor
 * does one in a value that the mask leaves as it is, because it equals its replacement.
 */
async function hasUnreplaceableMatch(
  request: ChatRequest,
  { values, replacements }: MaskedValues,
  masking: Masking,
): Promise<boolean> {
  if (!hasDocuments(request)) return false
  const remaining = await withoutMatches(replacements.keys(), replacements, masking)
  const { matching } = await matchingDocuments(request, remaining, masking)
  if (matching.length === 0) return false
  const { documents, matching: across } = await matchingDocuments(
    request,
    await withoutMatches(values, replacements, masking),
    masking,
  )
  if (across.length === 0) return false
  const rewrite = () => ''
  const rewrittenDocuments = await rewriteLongDocuments(request, rewrite)
  const syntax = documentTexts(request, { rewrite, rewrittenDocuments })
  // Names that became equal have removed some.
  if (syntax.length !== documents.length) return true
  for (const index of across) if (!(await masking.matches(syntax[index] ?? ''))) return true
  return false
}

/** The documents of a request with other values, and the indexes of those that match. */
async function matchingDocuments(
  request: ChatRequest,
  replacements: ReadonlyMap<string, string>,
  { matches }: Masking,
) {
  const documents = documentTexts(request, await prepareRewriting(request, replacements))
  const matching: number[] = []
  for (const [index, document] of documents.entries()) if (await matches(document)) matching.push(index)
  return { documents, matching }
}

/** The replacements, without the matches that remain in the values: nothing of a value that keeps some. */
async function withoutMatches(
  values: Iterable<string>,
  replacements: ReadonlyMap<string, string>,
  { matches, erase, pause }: Masking,
): Promise<ReadonlyMap<string, string>> {
  const remaining = new Map(replacements)
  for (const value of values) {
    const text = replacements.get(value) ?? value
    if (await matches(text)) {
      const erased = await erase(text)
      remaining.set(value, (await matches(erased)) ? '' : erased)
    }
    await pause()
  }
  return remaining
}
