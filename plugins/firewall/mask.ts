import type { ChatRequest } from '../../core/contract/index.ts'
import { documentTexts, hasDocuments } from '../../core/text/content-documents.ts'
import type { RewrittenDocuments } from '../../core/text/json-text.ts'
import { rewriteLongDocuments } from '../../core/text/long-documents.ts'
import { mapRequest } from '../../core/text/map-request.ts'
import { inspectedValues } from '../../core/text/request-texts.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'

/** What a mask rule does to a text. */
export interface Masking {
  replace(text: string): MaybePromise<string>
  matches(text: string): MaybePromise<boolean>
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

/** Replaces every match in the inspected values of a request. */
export async function maskRequest(request: ChatRequest, masking: Masking): Promise<MaskResult> {
  const replacements = await replaceValues(await inspectedValues(request), masking)
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
    isIncomplete: isIncomplete || (await hasUnreplaceableMatch(request, replacements, rewriting, masking)),
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

/**
 * Whether the pattern matches a document at a place that no replacement covers: across several values, or
 * across a value and the JSON syntax beside it. A match of nothing but the JSON syntax does not count.
 */
async function hasUnreplaceableMatch(
  request: ChatRequest,
  replacements: ReadonlyMap<string, string>,
  rewriting: Rewriting,
  masking: Masking,
): Promise<boolean> {
  const { matches } = masking
  if (!hasDocuments(request)) return false
  const remaining = await withoutMatches(replacements, masking)
  const documents = documentTexts(
    request,
    remaining === replacements ? rewriting : await prepareRewriting(request, remaining),
  )
  const matching: number[] = []
  for (const [index, document] of documents.entries()) if (await matches(document)) matching.push(index)
  if (matching.length === 0) return false
  const rewrite = () => ''
  const rewrittenDocuments = await rewriteLongDocuments(request, rewrite)
  const syntax = documentTexts(request, { rewrite, rewrittenDocuments })
  // Names that became equal have removed some.
  if (syntax.length !== documents.length) return true
  for (const index of matching) if (!(await matches(syntax[index] ?? ''))) return true
  return false
}

/**
 * What remains of the replaced values: nothing of those whose replacement matches again. The same object if
 * there are none.
 */
async function withoutMatches(
  replacements: ReadonlyMap<string, string>,
  { matches, pause }: Masking,
): Promise<ReadonlyMap<string, string>> {
  const matching: string[] = []
  for (const [value, replaced] of replacements) {
    if (await matches(replaced)) matching.push(value)
    await pause()
  }
  return matching.length === 0
    ? replacements
    : new Map([...replacements, ...matching.map((value) => [value, ''] as const)])
}
