import { isJsonObject, type JsonObject, type SseEvent } from '../../../core/contract/index.ts'
import type { ChatCall, WireFormat } from '../format.ts'
import { SandboxError } from '../format.ts'
import { checkGeminiFields } from './known-fields.ts'
import { createGeminiReplyEncoder } from './reply.ts'
import { parseGeminiRequest } from './request.ts'

const MODELS = ['gemini-4-argon', 'gemini-3.8-flash', 'gemini-3.1-flash-lite', 'gemini-2.5-flash']

/** Google's Generative Language API (https://ai.google.dev/api/generate-content). */
export const geminiFormat: WireFormat = {
  name: 'gemini',
  newline: '\r\n',
  findEndpoint(method, path) {
    if (method === 'POST' && /^\/v1(beta)?\/models\/[^/]+:(g|streamG)enerateContent$/.test(path))
      return 'chat'
    if (method === 'GET' && /^\/v1(beta)?\/models$/.test(path)) return 'models'
    return undefined
  },
  getApiKey: ({ 'x-goog-api-key': key = '' }) => String(key).trim(),
  parseCall: (path, body) => parseCall(path, body),
  buildModelList: () => JSON.stringify({ models: MODELS.map(buildModel) }),
  toErrorBody: toErrorBody,
  toErrorEvent: toErrorEvent,
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

/** Reads a request, whose path names the model and the method. Throws a `Refusal` (400) for one that Gemini would not take. */
function parseCall(path: string, body: unknown): ChatCall {
  if (!isJsonObject(body)) throw new SandboxError(400, 'Invalid JSON payload received.')
  checkGeminiFields(body)
  const [, name = '', method] = /([^/]+):(\w+)$/.exec(path) ?? []
  const model = decodeURIComponent(name)
  const signs = hasThoughtSignatures(model)
  return {
    request: parseGeminiRequest(model, body, signs),
    isStream: method === 'streamGenerateContent',
    ...createGeminiReplyEncoder(signs),
  }
}

/** From Gemini 3 on, calls have ids and thoughts are signed. */
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

/** Google's error body: `{error:{code,message,status,details}}`. */
function toErrorBody({ status: code, message, details }: SandboxError): string {
  const status = STATUSES[code] ?? 'UNKNOWN'
  return JSON.stringify({ error: { code, message, status, details: buildErrorDetails(code, details.code) } })
}

/** A failure in mid-stream is a record like any other, with the same body. */
function toErrorEvent(refusal: SandboxError): SseEvent {
  return { event: '', data: toErrorBody(refusal) }
}

/** A code is the limit that was hit, for an answer of 429, and else a reason such as `API_KEY_INVALID`. */
function buildErrorDetails(status: number, code: string | undefined): readonly JsonObject[] {
  if (status === 429) {
    const quotaId = code ?? 'GenerateRequestsPerMinutePerProjectPerModel'
    return [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId }] }]
  }
  if (code === undefined) return []
  return [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'googleapis.com' }]
}
