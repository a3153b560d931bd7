import type { ChatRequest, ReplyEvent } from '../../core/contract/chat.ts'
import type { OperationFormat, ProviderAdapter } from '../../core/contract/provider.ts'
import { toUnitLength } from '../gemini/embeddings.ts'
import { parseGeminiErrorRecord } from '../gemini/errors.ts'
import { GEMINI_LIMITS } from '../shared/api-limits.ts'
import { asObject, asObjects, asTokens } from '../shared/fields.ts'
import { dimensionsToSend, textInputsOf } from '../shared/input-batches.ts'
import { buildEmbeddingsReply } from '../shared/operation-reply.ts'
import type { VertexPath } from './location.ts'

/**
 * Adds embeddings to an adapter, for models that take several texts per request, and for those that take one:
 * https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
 */
export function createVertexEmbeddings(adapter: ProviderAdapter, pathOf: VertexPath) {
  const operations = { embeddings: createFormat(pathOf) }
  const withInputs = (embeddings: {
    readonly inputs: number
    readonly tokens?: number
  }): ProviderAdapter => ({
    ...adapter,
    limits: { ...GEMINI_LIMITS, embeddings },
    operations,
  })
  return { batch: withInputs({ inputs: 250, tokens: 20_000 }), single: withInputs({ inputs: 1 }) }
}

function createFormat(pathOf: VertexPath): OperationFormat {
  return {
    buildRequest(request, target) {
      const outputDimensionality = dimensionsToSend(request, target)
      const instances = textInputsOf(request, target).map((content) => ({ content }))
      return {
        path: pathOf('google', target.model, 'predict'),
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        // Texts that are too long are refused, as by other providers.
        body: JSON.stringify({ instances, parameters: { autoTruncate: false, outputDimensionality } }),
        omitted: [],
      }
    },
    parseReply: parseEmbeddings,
  }
}

function parseEmbeddings(body: unknown, request: ChatRequest): ReplyEvent {
  const { error, predictions } = asObject(body)
  if (error != null) throw parseGeminiErrorRecord(asObject(body))
  const isShortened = typeof request.dimensions === 'number'
  const embeddings = asObjects(predictions).map((prediction) => asObject(prediction.embeddings))
  const vectors = embeddings.map(({ values }) =>
    isShortened && Array.isArray(values) ? toUnitLength(values) : values,
  )
  const counts = embeddings.map(({ statistics }) => asTokens(asObject(statistics).token_count))
  const isCounted = counts.every((count) => count !== undefined)
  const input = counts.reduce((sum: number, count = 0) => sum + count, 0)
  return buildEmbeddingsReply(vectors, request, { usage: isCounted ? { input, output: 0 } : undefined })
}
