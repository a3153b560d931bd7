import type { ChatRequest, ReplyEvent } from '../../core/contract/chat.ts'
import type { FieldRules } from '../../core/contract/chat-format.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { OperationFormat } from '../../core/contract/provider.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { findOmittedFields } from '../shared/deviations.ts'
import { asNumber, asObject, asObjects, asString } from '../shared/fields.ts'
import { dimensionsToSend, inputsOf } from '../shared/input-batches.ts'
import { buildEmbeddingsReply } from '../shared/operation-reply.ts'
import { extractVectors } from '../shared/vectors.ts'
import { isChatErrorRecord, parseChatErrorRecord } from './errors.ts'
import { applyRule, type Body, findRuled, namesOf } from './field-rules.ts'
import { toChatUsage } from './reply.ts'
import { buildChatHeaders } from './wire.ts'

/**
 * OpenAI's embeddings: https://platform.openai.com/docs/api-reference/embeddings. Fields without a rule are
 * passed through, for compatible providers.
 */
export function createOpenAiEmbeddings(rules: FieldRules = {}): OperationFormat {
  return {
    buildRequest(given, target) {
      const { messages: _, metadata: __, ...fields } = given
      const request: ChatRequest = {
        ...given,
        dimensions: dimensionsToSend(given, target),
        encoding_format: given.encoding_format ?? undefined,
      }
      const body: Body = { ...fields, input: inputsOf(given) }
      for (const field of ['dimensions', 'encoding_format']) body[field] = request[field]
      const ruled = findRuled(request, rules).filter(({ field }) => Object.hasOwn(fields, field))
      for (const each of ruled) applyRule(body, each, request, target)
      body.model = target.model
      const isSent = (field: string) => namesOf(field, rules[field]).some((name) => body[name] !== undefined)
      // Vectors are converted for the client.
      const among = ruled.map(({ field }) => field).filter((field) => field !== 'encoding_format')
      return {
        path: '/embeddings',
        headers: buildChatHeaders(false),
        body: JSON.stringify(body),
        omitted: findOmittedFields(request, isSent, among),
      }
    },
    parseReply: parseEmbeddingsReply,
    parseText: parseEmbeddingsText,
  }
}

/** Parses a reply without its vectors, whose texts are passed on as they are to clients that want numbers. */
export function parseEmbeddingsText(json: string, request: ChatRequest): ReplyEvent | undefined {
  const { text, vectors = [] } = extractVectors(json) ?? {}
  const body = text === undefined ? undefined : parseJsonObject(text)
  if (body === undefined || vectors.length === 0 || !Array.isArray(body.data)) return undefined
  const data = asObjects(body.data).map(({ embedding, ...item }) => ({
    ...item,
    embedding: typeof embedding === 'number' ? vectors[embedding] : embedding,
  }))
  return parseEmbeddingsReply({ ...body, data }, request)
}

/** Parses the reply of OpenAI, Mistral and others. Throws a `GatewayError` for any other value. */
export function parseEmbeddingsReply(body: unknown, request: ChatRequest): ReplyEvent {
  const native = asObject(body)
  if (isChatErrorRecord(native)) throw parseChatErrorRecord(native)
  const { id, model, usage, data } = native
  const vectors = asObjects(data)
    .toSorted(byIndex)
    .map(({ embedding }) => embedding)
  const facts = { id: asString(id), model: asString(model), usage: toChatUsage(usage) }
  return buildEmbeddingsReply(vectors, request, facts)
}

/** A reply without indexes keeps its order. */
function byIndex(a: JsonObject, b: JsonObject): number {
  return (asNumber(a.index) ?? 0) - (asNumber(b.index) ?? 0)
}
