import type { ChatRequest } from '../contract/index.ts'
import { createCooperativeYield } from '../util/cooperative-yield.ts'
import { MAX_IMMEDIATE_JSON, type RewrittenDocuments, rewriteLongJsonText } from './json-text.ts'
import { REQUEST } from './positions.ts'
import { visitTexts } from './visit-texts.ts'

/**
 * Rewrites the long JSON documents of a request in time slices, for a later call of `mapRequest` with the
 * same `rewrite`.
 */
export async function rewriteLongDocuments(
  request: ChatRequest,
  rewrite: (text: string) => string,
): Promise<RewrittenDocuments> {
  const documents = new Map<string, Awaited<ReturnType<typeof rewriteLongJsonText>>>()
  const slice = createCooperativeYield()
  for (const source of longJsonTexts(request))
    documents.set(source, await rewriteLongJsonText(source, rewrite, slice))
  return documents
}

function longJsonTexts(request: ChatRequest): ReadonlySet<string> {
  const found = new Set<string>()
  let length = 0
  visitTexts(request, REQUEST, {
    visitText: () => undefined,
    visitJson(source) {
      length += source.length
      if (length > MAX_IMMEDIATE_JSON) found.add(source)
    },
  })
  return found
}
