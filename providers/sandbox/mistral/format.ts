import { isJsonObject, type JsonObject, type SseEvent } from '../../../core/contract/index.ts'
import { openaiFormat } from '../openai/format.ts'
import { parseOpenAiRequest } from '../openai/request.ts'
import { messagesIn, requireReasoning } from '../shared/issued-reasoning.ts'
import { parseModeration } from '../shared/moderations.ts'
import { type ChatCall, SandboxError, toDataEvent, type WireFormat } from '../shared/wire-format.ts'
import { parseMistralEmbeddings } from './embeddings.ts'
import { toMistralBody, toMistralStream } from './reply.ts'
import { checkMistralConversation, checkMistralFields } from './validate-request.ts'

const MODELS = ['mistral-medium-3.5', 'mistral-small-2603', 'mistral-large-2512', 'codestral-2508']

/** What is not a chat, by path. */
const OPERATIONS: ReadonlyMap<string, (body: unknown) => ChatCall> = new Map([
  ['/v1/embeddings', parseMistralEmbeddings],
  ['/v1/moderations', (body) => parseModeration(body, 'mistral')],
])

/** Mistral's chat completions (https://docs.mistral.ai/api/endpoint/chat), with their strict validation. */
export const mistralFormat: WireFormat = {
  name: 'mistral',
  findEndpoint: openaiFormat.findEndpoint,
  getApiKey: openaiFormat.getApiKey,
  parseCall: (path, body) => OPERATIONS.get(path)?.(body) ?? parseCall(body),
  buildModelList: () => JSON.stringify({ object: 'list', data: MODELS.map(buildModel) }),
  toErrorBody,
  toErrorEvent,
}

function buildModel(id: string) {
  const capabilities = { completion_chat: true, function_calling: true }
  return { id, object: 'model', type: 'base', created: 1_767_225_600, owned_by: 'mistralai', capabilities }
}

/** Throws a `SandboxError` (400 or 422) if Mistral would reject the body. */
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
    checkReasoning: () => requireReasoning(messagesIn(body), 'content', hasThinking),
    toBody: toMistralBody,
    toStream: toMistralStream,
  }
}

function hasThinking({ content }: JsonObject): boolean {
  return Array.isArray(content) && content.some((chunk) => isJsonObject(chunk) && chunk.type === 'thinking')
}

function wantsReasoning({ reasoning_effort: effort, prompt_mode: mode }: JsonObject): boolean {
  return mode === 'reasoning' || (typeof effort === 'string' && effort !== 'none')
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  403: 'authentication_error',
  404: 'invalid_request_error',
  429: 'rate_limit_error',
}

/** Mistral has three error shapes: its own, one for validation (422) and one of its API gateway (401). */
function toErrorBody(error: SandboxError): string {
  switch (error.status) {
    case 401:
      return JSON.stringify({ detail: 'Unauthorized' })
    case 422:
      return JSON.stringify({ detail: [toValidationIssue(error)] })
    default:
      return JSON.stringify(toErrorObject(error))
  }
}

function toErrorEvent(error: SandboxError): SseEvent {
  return toDataEvent(toErrorObject(error))
}

function toErrorObject({ status, message, details }: SandboxError) {
  const type = ERROR_TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
  return { object: 'error', message, type, param: details.param ?? null, code: details.code ?? null }
}

function toValidationIssue({ message, details: { param = '', code = 'value_error' } }: SandboxError) {
  const path = param === '' ? [] : param.split('.')
  const loc = ['body', ...path.map((key) => (/^\d+$/.test(key) ? Number(key) : key))]
  return { type: code, loc, msg: message }
}
