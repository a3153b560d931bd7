import { isJsonObject, type JsonObject, type SseEvent } from '../../../core/contract/index.ts'
import type { ChatCall, WireFormat } from '../format.ts'
import { SandboxError } from '../format.ts'
import { openaiFormat } from '../openai/format.ts'
import { parseOpenAiRequest } from '../openai/request.ts'
import { checkMistralConversation, checkMistralFields } from './checks.ts'
import { toMistralBody, toMistralStream } from './reply.ts'

const MODELS = ['mistral-medium-3.5', 'mistral-small-2603', 'mistral-large-2512', 'codestral-2508']

/** Mistral's chat completions (https://docs.mistral.ai/api/endpoint/chat), which it checks strictly. */
export const mistralFormat: WireFormat = {
  name: 'mistral',
  findEndpoint: openaiFormat.findEndpoint,
  getApiKey: openaiFormat.getApiKey,
  parseCall: (_path, body) => parseCall(body),
  buildModelList: () => JSON.stringify({ object: 'list', data: MODELS.map(buildModel) }),
  toErrorBody: toErrorBody,
  toErrorEvent: toErrorEvent,
}

function buildModel(id: string) {
  const capabilities = { completion_chat: true, function_calling: true }
  return { id, object: 'model', type: 'base', created: 1_767_225_600, owned_by: 'mistralai', capabilities }
}

/** Reads the body of a chat request. Throws a `Refusal` (400 or 422) for one that Mistral would not take. */
function parseCall(body: unknown): ChatCall {
  if (!isJsonObject(body)) throw new SandboxError(422, 'JSON decode error', { code: 'json_invalid' })
  checkMistralFields(body)
  checkMistralConversation(body)
  const { tool_choice: choice } = body
  return {
    request: {
      ...parseOpenAiRequest({ ...body, tool_choice: choice === 'any' ? 'required' : choice }),
      wantsReasoning: wantsReasoning(body),
    },
    isStream: body.stream === true,
    toBody: toMistralBody,
    toStream: toMistralStream,
  }
}

function wantsReasoning({ reasoning_effort: effort, prompt_mode: mode }: JsonObject): boolean {
  return mode === 'reasoning' || (typeof effort === 'string' && effort !== 'none')
}

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  403: 'authentication_error',
  404: 'invalid_request_error',
  429: 'rate_limit_error',
}

/** Mistral's error bodies: its own, the validator's for 422, and one word from the door for 401. */
function toErrorBody(refusal: SandboxError): string {
  switch (refusal.status) {
    case 401:
      return JSON.stringify({ detail: 'Unauthorized' })
    case 422:
      return JSON.stringify({ detail: [toValidationIssue(refusal)] })
    default:
      return JSON.stringify(toErrorObject(refusal))
  }
}

/** A failure in mid-stream. */
function toErrorEvent(refusal: SandboxError): SseEvent {
  return { event: '', data: JSON.stringify(toErrorObject(refusal)) }
}

function toErrorObject({ status, message, details }: SandboxError) {
  const type = TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
  return { object: 'error', message, type, param: details.param ?? null, code: details.code ?? null }
}

function toValidationIssue({ message, details: { param = '', code = 'value_error' } }: SandboxError) {
  const place = param === '' ? [] : param.split('.')
  const loc = ['body', ...place.map((step) => (/^\d+$/.test(step) ? Number(step) : step))]
  return { type: code, loc, msg: message }
}
