import type { ChatRequest, ReplyEvent } from '../../core/contract/chat.ts'
import type { OperationFormat } from '../../core/contract/provider.ts'
import { asObject, asObjects, asTokens } from '../shared/fields.ts'
import { dimensionsToSend, textInputsOf } from '../shared/input-batches.ts'
import { buildEmbeddingsReply } from '../shared/operation-reply.ts'
import { parseGeminiErrorRecord } from './errors.ts'

/** Gemini's embeddings: https://ai.google.dev/api/embeddings#v1beta.models.batchEmbedContents. */
export const geminiEmbeddings: OperationFormat = {
  buildRequest(request, target) {
    const outputDimensionality = dimensionsToSend(request, target)
    const requests = textInputsOf(request, target).map((text) => ({
      model: `models/${target.model}`,
      content: { parts: [{ text }] },
      outputDimensionality,
    }))
    return {
      path: `/v1beta/models/${encodeURIComponent(target.model)}:batchEmbedContents`,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ requests }),
      omitted: [],
    }
  },
  parseReply: parseGeminiEmbeddings,
}

function parseGeminiEmbeddings(body: unknown, request: ChatRequest): ReplyEvent {
  const { error, embeddings, usageMetadata } = asObject(body)
  if (error != null) throw parseGeminiErrorRecord(asObject(body))
  const isShortened = typeof request.dimensions === 'number'
  const vectors = asObjects(embeddings).map(({ values }) =>
    isShortened && Array.isArray(values) ? toUnitLength(values) : values,
  )
  const input = asTokens(asObject(usageMetadata).promptTokenCount)
  return buildEmbeddingsReply(vectors, request, {
    usage: input === undefined ? undefined : { input, output: 0 },
  })
}

/** Gemini does not normalize vectors that it shortens; OpenAI's clients rely on it. */
export function toUnitLength(vector: readonly number[]): readonly number[] {
  let sum = 0
  for (const value of vector) sum += value * value
  const length = Math.sqrt(sum)
  return length === 0 ? vector : vector.map((value) => value / length)
}
