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
 * Adds embeddings to an adapter. Returns that of a model: some take several texts per request, some one.
 * https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
 */
export function createVertexEmbeddings(adapter: ProviderAdapter, pathOf: VertexPath) {
  const predict = createPredictFormat(pathOf)
  const create = (
    embeddings: OperationFormat,
    limit: { readonly inputs: number; readonly tokens?: number },
  ): ProviderAdapter => ({
    ...adapter,
    limits: { ...GEMINI_LIMITS, embeddings: limit },
    operations: { embeddings },
  })
  const batch = create(predict, { inputs: 250, tokens: 20_000 })
  const single = create(predict, { inputs: 1 })
  const content = create(createContentFormat(pathOf), { inputs: 1 })
  return (model: string) => {
    if (!model.startsWith('gemini-embedding')) return batch
    return model.startsWith('gemini-embedding-001') ? single : content
  }
}

/** Texts that are too long are refused, as by other providers. */
const WHOLE_TEXTS = { autoTruncate: false }
const HEADERS = { 'content-type': 'application/json', accept: 'application/json' }

/** Of Gemini Embedding 2 and later: one text per request. */
function createContentFormat(pathOf: VertexPath): OperationFormat {
  return {
    buildRequest(request, target) {
      const embedContentConfig = { ...WHOLE_TEXTS, outputDimensionality: dimensionsToSend(request, target) }
      const [text] = textInputsOf(request, target)
      return {
        path: pathOf('google', target.model, 'embedContent'),
        headers: HEADERS,
        body: JSON.stringify({ content: { parts: [{ text }] }, embedContentConfig }),
        omitted: [],
      }
    },
    parseReply(body, request) {
      const { error, embedding, usageMetadata } = asObject(body)
      if (error != null) throw parseGeminiErrorRecord(asObject(body))
      const input = asTokens(asObject(usageMetadata).promptTokenCount)
      return buildEmbeddingsReply([toVector(asObject(embedding).values, request)], request, {
        usage: input === undefined ? undefined : { input, output: 0 },
      })
    },
  }
}

/** Google does not normalize vectors that it shortens. */
function toVector(values: unknown, { dimensions }: ChatRequest): unknown {
  return typeof dimensions === 'number' && Array.isArray(values) ? toUnitLength(values) : values
}

function createPredictFormat(pathOf: VertexPath): OperationFormat {
  return {
    buildRequest(request, target) {
      const outputDimensionality = dimensionsToSend(request, target)
      const instances = textInputsOf(request, target).map((content) => ({ content }))
      return {
        path: pathOf('google', target.model, 'predict'),
        headers: HEADERS,
        body: JSON.stringify({ instances, parameters: { ...WHOLE_TEXTS, outputDimensionality } }),
        omitted: [],
      }
    },
    parseReply: parseEmbeddings,
  }
}

function parseEmbeddings(body: unknown, request: ChatRequest): ReplyEvent {
  const { error, predictions } = asObject(body)
  if (error != null) throw parseGeminiErrorRecord(asObject(body))
  const embeddings = asObjects(predictions).map((prediction) => asObject(prediction.embeddings))
  const vectors = embeddings.map(({ values }) => toVector(values, request))
  const counts = embeddings.map(({ statistics }) => asTokens(asObject(statistics).token_count))
  const isCounted = counts.every((count) => count !== undefined)
  const input = counts.reduce((sum: number, count = 0) => sum + count, 0)
  return buildEmbeddingsReply(vectors, request, { usage: isCounted ? { input, output: 0 } : undefined })
}
