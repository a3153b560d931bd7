import { isJsonObject, type JsonObject, type SseEvent } from '../../../core/contract/index.ts'
import type { Call, Format } from '../format.ts'
import { Refusal } from '../format.ts'
import { openai } from '../openai/format.ts'
import { readQuestion } from '../openai/request.ts'
import { checkFields, checkTurns } from './checks.ts'
import { writeStream, writeWhole } from './reply.ts'

const MODELS = ['mistral-medium-3.5', 'mistral-small-2603', 'mistral-large-2512', 'codestral-2508']

/** Mistral's chat completions (https://docs.mistral.ai/api/endpoint/chat), which it checks strictly. */
export const mistral: Format = {
  name: 'mistral',
  findEndpoint: openai.findEndpoint,
  readKey: openai.readKey,
  readCall: (_path, body) => readCall(body),
  writeModels: () => JSON.stringify({ object: 'list', data: MODELS.map(writeModel) }),
  writeError,
  writeErrorEvent,
}

function writeModel(id: string) {
  const capabilities = { completion_chat: true, function_calling: true }
  return { id, object: 'model', type: 'base', created: 1_767_225_600, owned_by: 'mistralai', capabilities }
}

/** Reads the body of a chat request. Throws a `Refusal` (400 or 422) for one that Mistral would not take. */
function readCall(body: unknown): Call {
  if (!isJsonObject(body)) throw new Refusal(422, 'JSON decode error', { code: 'json_invalid' })
  checkFields(body)
  checkTurns(body)
  const { tool_choice: choice } = body
  return {
    question: {
      ...readQuestion({ ...body, tool_choice: choice === 'any' ? 'required' : choice }),
      wantsReasoning: wantsReasoning(body),
    },
    streams: body.stream === true,
    writeWhole,
    writeStream,
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
function writeError(refusal: Refusal): string {
  switch (refusal.status) {
    case 401:
      return JSON.stringify({ detail: 'Unauthorized' })
    case 422:
      return JSON.stringify({ detail: [writeFault(refusal)] })
    default:
      return JSON.stringify(writeRecord(refusal))
  }
}

/** A failure in mid-stream. */
function writeErrorEvent(refusal: Refusal): SseEvent {
  return { event: '', data: JSON.stringify(writeRecord(refusal)) }
}

function writeRecord({ status, message, details }: Refusal) {
  const type = TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
  return { object: 'error', message, type, param: details.param ?? null, code: details.code ?? null }
}

function writeFault({ message, details: { param = '', code = 'value_error' } }: Refusal) {
  const place = param === '' ? [] : param.split('.')
  const loc = ['body', ...place.map((step) => (/^\d+$/.test(step) ? Number(step) : step))]
  return { type: code, loc, msg: message }
}
