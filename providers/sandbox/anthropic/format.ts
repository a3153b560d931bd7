import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject, type SseEvent } from '../../../core/contract/index.ts'
import { openaiFormat } from '../openai/format.ts'
import { type ChatCall, SandboxError, type WireFormat } from '../shared/wire-format.ts'
import { toAnthropicBody, toAnthropicStream } from './reply.ts'
import { parseAnthropicRequest } from './request.ts'
import {
  checkAnthropicFields,
  checkAnthropicLimits,
  checkSignatures,
  checkThinking,
} from './validate-request.ts'

const MODELS = ['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5', 'claude-sonnet-4-6']

/** Anthropic's Messages API (https://platform.claude.com/docs/en/api/messages). */
export const anthropicFormat: WireFormat = {
  name: 'anthropic',
  findEndpoint(method, path) {
    if (method === 'POST' && path === '/v1/messages') return 'chat'
    if (method === 'GET' && path === '/v1/models') return 'models'
    return undefined
  },
  getApiKey: (headers) => headerOf(headers, 'x-api-key') || openaiFormat.getApiKey(headers),
  parseCall: (_path, body, headers) => parseCall(body, headers),
  buildModelList() {
    const data = MODELS.map((id) => ({
      type: 'model',
      id,
      display_name: id,
      created_at: '2026-01-01T00:00:00Z',
    }))
    return JSON.stringify({ data, first_id: MODELS[0], last_id: MODELS.at(-1), has_more: false })
  },
  toErrorBody,
  toErrorEvent,
}

function headerOf(headers: IncomingHttpHeaders, name: string): string {
  return String(headers[name] ?? '').trim()
}

/** Throws a `SandboxError` (400) if Anthropic would reject the request. */
function parseCall(body: unknown, headers: IncomingHttpHeaders): ChatCall {
  if (headerOf(headers, 'anthropic-version') === '')
    throw new SandboxError(400, 'anthropic-version: header is required')
  if (!isJsonObject(body)) throw new SandboxError(400, 'The request body is not valid JSON.')
  checkAnthropicFields(body, headerOf(headers, 'anthropic-beta').split(/[\s,]+/))
  checkSignatures(body)
  checkAnthropicLimits(body)
  return {
    request: parseAnthropicRequest(body),
    isStream: body.stream === true,
    checkReasoning: () => checkThinking(body),
    toBody: toAnthropicBody,
    toStream: toAnthropicStream,
  }
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** Encodes an error as `{type, error: {type, message, details?}, request_id}`. */
function toErrorBody({ status, message, details }: SandboxError): string {
  const type = ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  const { code } = details
  const error = code === undefined ? { type, message } : { type, message, details: { error_code: code } }
  return JSON.stringify({ type: 'error', error, request_id: 'req_sandbox' })
}

/** An error in the middle of a stream is an `error` event with the body of an error response. */
function toErrorEvent(error: SandboxError): SseEvent {
  return { event: 'error', data: toErrorBody(error) }
}
