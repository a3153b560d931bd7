import type { ChatRequest } from '../../core/contract/chat.ts'
import type { ProviderAdapter, ProviderRequest, Target } from '../../core/contract/provider.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { gemini } from '../gemini/adapter.ts'
import { buildGeminiRequest, type GeminiApi } from '../gemini/request.ts'
import { unusableReplyError } from '../shared/errors.ts'
import { asObject, asTokens } from '../shared/fields.ts'
import type { VertexPath } from './location.ts'

/** Gemini at Vertex AI, in the format `gemini`. */
export function createVertexGemini(pathOf: VertexPath) {
  const api: GeminiApi = {
    pathOf: (model, method) => pathOf('google', model, method),
    fieldsOf: ({ metadata }) => toLabels(metadata),
  }
  return {
    ...gemini,
    format: 'vertex',
    buildRequest: (request, target) => buildGeminiRequest(request, target, api),
    tokenCount: {
      buildRequest: (request, target) => buildCountRequest(request, target, api),
      parseReply: parseTokenCount,
    },
  } satisfies ProviderAdapter
}

/** https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/count-tokens */
function buildCountRequest(request: ChatRequest, target: Target, api: GeminiApi): ProviderRequest {
  const { headers, body } = buildGeminiRequest({ ...request, stream: false }, target, api)
  const { contents, systemInstruction, tools } = parseJsonObject(String(body)) ?? {}
  return {
    path: api.pathOf(target.model, 'countTokens'),
    headers,
    body: JSON.stringify({ contents, systemInstruction, tools }),
    omitted: [],
  }
}

function parseTokenCount(body: unknown): number {
  const tokens = asTokens(asObject(body).totalTokens)
  if (tokens === undefined) throw unusableReplyError('The provider did not count the tokens.')
  return tokens
}

const LABEL_KEY = /^\p{Ll}[\p{Ll}\p{N}_-]{0,62}$/u
const LABEL_VALUE = /^[\p{Ll}\p{N}_-]{0,63}$/u
const MAX_LABELS = 64

/**
 * Metadata as labels, by which Google's bills can be divided. Google refuses a request for a label that does
 * not have this form, so others are left out.
 */
function toLabels(metadata: ChatRequest['metadata']) {
  const labels = Object.entries(asObject(metadata)).flatMap(([key, value]) =>
    typeof value === 'string' && LABEL_KEY.test(key) && LABEL_VALUE.test(value)
      ? [[key, value] as const]
      : [],
  )
  return labels.length === 0 ? {} : { labels: Object.fromEntries(labels.slice(0, MAX_LABELS)) }
}
