import { isJsonObject, type JsonObject, type SseEvent } from '../../../core/contract/index.ts'
import { type ChatCall, SandboxError, type WireFormat } from '../shared/wire-format.ts'
import { parseGeminiEmbeddings } from './embeddings.ts'
import { checkGeminiFields } from './known-fields.ts'
import { createGeminiReplyEncoder } from './reply.ts'
import { checkOwnSignatures, parseGeminiRequest } from './request.ts'

const MODELS = ['gemini-4-argon', 'gemini-3.8-flash', 'gemini-3.1-flash-lite', 'gemini-2.5-flash']

/** Google's Generative Language API (https://ai.google.dev/api/generate-content). */
export const geminiFormat: WireFormat = {
  name: 'gemini',
  newline: '\r\n',
  findEndpoint(method, path) {
    const isChat =
      /^\/v1(beta)?\/models\/[^/]+:(generateContent|streamGenerateContent|batchEmbedContents)$/.test(path)
    if (method === 'POST' && isChat) return 'chat'
    if (method === 'GET' && /^\/v1(beta)?\/models$/.test(path)) return 'models'
    return undefined
  },
  getApiKey: ({ 'x-goog-api-key': key = '' }) => String(key).trim(),
  parseCall: (path, body) => parseCall(path, body),
  buildModelList: () => JSON.stringify({ models: MODELS.map(buildModel) }),
  toErrorBody,
  toErrorEvent,
}

function buildModel(id: string) {
  return {
    name: `models/${id}`,
    displayName: id,
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: ['generateContent'],
  }
}

/**
 * The path names the model and the method. Throws a `SandboxError` (400) if Gemini would reject the request.
 */
function parseCall(path: string, body: unknown): ChatCall {
  if (!isJsonObject(body)) throw new SandboxError(400, 'Invalid JSON payload received.')
  const [, name = '', method] = /([^/]+):(\w+)$/.exec(path) ?? []
  const model = decodeURIComponent(name)
  if (method === 'batchEmbedContents') return parseGeminiEmbeddings(model, body)
  checkGeminiFields(body)
  const hasSignatures = hasThoughtSignatures(model)
  return {
    request: parseGeminiRequest(model, body, hasSignatures),
    isStream: method === 'streamGenerateContent',
    checkReasoning: () => checkOwnSignatures(body),
    ...createGeminiReplyEncoder(hasSignatures),
  }
}

/** Since Gemini 3, function calls have ids and thought signatures. */
function hasThoughtSignatures(model: string): boolean {
  return !/^gemini-[12]\b|^gemma/.test(model)
}

const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'RESOURCE_EXHAUSTED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** Encodes an error as `{error: {code, message, status, details}}`. */
function toErrorBody({ status: code, message, details }: SandboxError): string {
  const status = STATUSES[code] ?? 'UNKNOWN'
  return JSON.stringify({ error: { code, message, status, details: buildErrorDetails(code, details.code) } })
}

/** An error in the middle of a stream is an ordinary event with the body of an error response. */
function toErrorEvent(error: SandboxError): SseEvent {
  return { event: '', data: toErrorBody(error) }
}

/**
 * For status 429, the code is the id of the exceeded quota; otherwise it is a reason such as
 * `API_KEY_INVALID`.
 */
function buildErrorDetails(status: number, code: string | undefined): readonly JsonObject[] {
  if (status === 429) {
    const quotaId = code ?? 'GenerateRequestsPerMinutePerProjectPerModel'
    return [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId }] }]
  }
  if (code === undefined) return []
  return [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'googleapis.com' }]
}
