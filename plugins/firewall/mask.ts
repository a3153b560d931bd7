import type { ChatRequest } from '../../core/contract/index.ts'
import { documentTexts, hasDocuments } from '../../core/text/content-documents.ts'
import { rewriteLongDocuments } from '../../core/text/long-documents.ts'
import { mapRequest } from '../../core/text/map-request.ts'
import { inspectedValues } from '../../core/text/request-texts.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'

/** What a mask rule does to a text. */
export interface Masking {
  replace(text: string): MaybePromise<string>
  matches(text: string): MaybePromise<boolean>
  /** Called between two texts, so that many texts do not hold the event loop. */
  pause(): Promise<void>
}

export interface MaskResult {
  /** The same object if nothing was replaced. */
  readonly request: ChatRequest
  /** A match remains that cannot be replaced, so the request must be refused. */
  readonly isIncomplete: boolean
}

/** Replaces every match in the inspected values of a request. */
export async function maskRequest(request: ChatRequest, masking: Masking): Promise<MaskResult> {
  const replacements = new Map<string, string>()
  for (const value of await inspectedValues(request)) {
    const replaced = await masking.replace(value)
    if (replaced !== value) replacements.set(value, replaced)
    await masking.pause()
  }
  let isIncomplete = false
  const rewrite = (text: string) => replacements.get(text) ?? text
  const masked = mapRequest(request, {
    rewrite,
    rewrittenDocuments: await rewriteLongDocuments(request, rewrite),
    refuse() {
      isIncomplete = true
    },
  })
  return {
    request: masked,
    isIncomplete: isIncomplete || (await hasUnreplaceableMatch(request, replacements, masking)),
  }
}

/**
 * Whether the pattern matches a document at a place that no replacement covers: across several values, or
 * across a value and the JSON syntax beside it. A match of nothing but the JSON syntax does not count.
 */
async function hasUnreplaceableMatch(
  request: ChatRequest,
  replacements: ReadonlyMap<string, string>,
  masking: Masking,
): Promise<boolean> {
  const { matches } = masking
  if (!hasDocuments(request)) return false
  const remaining = await withoutMatches(replacements, masking)
  const documents = await rewrittenTexts(request, (text) => remaining.get(text) ?? text)
  const matching: number[] = []
  for (const [index, document] of documents.entries()) if (await matches(document)) matching.push(index)
  if (matching.length === 0) return false
  const syntax = await rewrittenTexts(request, () => '')
  for (const index of matching) if (!(await matches(syntax[index] ?? ''))) return true
  return false
}

async function rewrittenTexts(request: ChatRequest, rewrite: (text: string) => string) {
  return documentTexts(request, {
    rewrite,
    rewrittenDocuments: await rewriteLongDocuments(request, rewrite),
  })
}

/** What remains of the replaced values; nothing of those whose replacement matches again. */
async function withoutMatches(replacements: ReadonlyMap<string, string>, { matches, pause }: Masking) {
  const remaining = new Map<string, string>()
  for (const [value, replaced] of replacements) {
    remaining.set(value, (await matches(replaced)) ? '' : replaced)
    await pause()
  }
  return remaining
}
