import { isJsonObject, type JsonObject, type SseEvent } from '../../../core/contract/index.ts'
import type { Call, Format } from '../format.ts'
import { Refusal } from '../format.ts'
import { refuseUnknownFields } from './known-fields.ts'
import { createReplyWriter } from './reply.ts'
import { readQuestion } from './request.ts'

const MODELS = ['gemini-4-argon', 'gemini-3.8-flash', 'gemini-3.1-flash-lite', 'gemini-2.5-flash']

/** Google's Generative Language API (https://ai.google.dev/api/generate-content). */
export const gemini: Format = {
  name: 'gemini',
  newline: '\r\n',
  findEndpoint(method, path) {
    if (method === 'POST' && /^\/v1(beta)?\/models\/[^/]+:(g|streamG)enerateContent$/.test(path))
      return 'chat'
    if (method === 'GET' && /^\/v1(beta)?\/models$/.test(path)) return 'models'
    return undefined
  },
  readKey: ({ 'x-goog-api-key': key = '' }) => String(key).trim(),
  readCall: (path, body) => readCall(path, body),
  writeModels: () => JSON.stringify({ models: MODELS.map(writeModel) }),
  writeError,
  writeErrorEvent,
}

function writeModel(id: string) {
  return {
    name: `models/${id}`,
    displayName: id,
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: ['generateContent'],
  }
}

/** Reads a request, whose path names the model and the method. Throws a `Refusal` (400) for one that Gemini would not take. */
function readCall(path: string, body: unknown): Call {
  if (!isJsonObject(body)) throw new Refusal(400, 'Invalid JSON payload received.')
  refuseUnknownFields(body)
  const [, name = '', method] = /([^/]+):(\w+)$/.exec(path) ?? []
  const model = decodeURIComponent(name)
  const signs = signsThoughts(model)
  return {
    question: readQuestion(model, body, signs),
    streams: method === 'streamGenerateContent',
    ...createReplyWriter(signs),
  }
}

/** From Gemini 3 on, calls have ids and thoughts are signed. */
function signsThoughts(model: string): boolean {
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
function writeError({ status: code, message, details }: Refusal): string {
  const status = STATUSES[code] ?? 'UNKNOWN'
  return JSON.stringify({ error: { code, message, status, details: writeDetails(code, details.code) } })
}

/** A failure in mid-stream is a record like any other, with the same body. */
function writeErrorEvent(refusal: Refusal): SseEvent {
  return { event: '', data: writeError(refusal) }
}

/** A code is the limit that was hit, for an answer of 429, and else a reason such as `API_KEY_INVALID`. */
function writeDetails(status: number, code: string | undefined): readonly JsonObject[] {
  if (status === 429) {
    const quotaId = code ?? 'GenerateRequestsPerMinutePerProjectPerModel'
    return [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId }] }]
  }
  if (code === undefined) return []
  return [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'googleapis.com' }]
}
