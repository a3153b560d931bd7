import type { ChatRequest } from '../contract/index.ts'
import type { MaybePromise } from '../util/maybe-promise.ts'
import { joinAdjacentTexts } from './adjacent-texts.ts'
import { contentDocuments, joinedResult } from './content-documents.ts'
import { CONTENT, REQUEST } from './positions.ts'
import { TextCollector } from './text-collector.ts'
import { visitTexts } from './visit-texts.ts'

/**
 * Returns all texts of a request that rules inspect: every value on its own, and the text of each document,
 * because a pattern may match only one of the two (docs/guides/firewall.md, "What is inspected"). Leaves out
 * texts
 * of which the caller knows the result. Returns a promise if the request has long JSON documents: they are
 * read in time slices.
 */
export function requestTexts(
  request: ChatRequest,
  isKnown?: (text: string) => boolean,
): MaybePromise<readonly string[]> {
  const collector = new TextCollector({ withDocuments: true, ...(isKnown && { isKnown }) })
  visitTexts(request, REQUEST, collector)
  for (const message of request.messages) {
    if (!Array.isArray(message.content)) continue
    for (const document of contentDocuments(message.content)) collector.visitText(document)
    const result = joinedResult(message, message.content)
    if (result !== undefined) collector.addJoinedValues(result)
  }
  let previous: string | undefined
  for (const text of joinAdjacentTexts(request)) {
    if (text !== previous) collector.visitText(text)
    previous = text
  }
  return collector.finish()
}

/** Every inspected value of a request on its own; what `mapRequest` rewrites. Returns a promise as above. */
export function inspectedValues(request: ChatRequest): MaybePromise<readonly string[]> {
  const collector = new TextCollector()
  visitTexts(request, REQUEST, collector)
  return collector.finish()
}

/** The contents of the user's messages: the input of the routing condition `contains`. */
export function userTexts({ messages }: ChatRequest): readonly string[] {
  const collector = new TextCollector()
  for (const { role, content } of messages) {
    if (role !== 'user') continue
    visitTexts(content, CONTENT, collector)
    if (Array.isArray(content)) for (const text of contentDocuments(content)) collector.visitText(text)
  }
  return collector.texts
}
