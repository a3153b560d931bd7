import type { ChatRequest } from '../../core/contract/chat.ts'
import type { Model } from '../../core/contract/model.ts'
import type { HttpCall, Target } from '../../core/contract/provider.ts'
import { writeHeaders } from '../chat-format/write-headers.ts'

/** The client's request as it stands, but for the model's name, the usage report and what the model cannot take. */
export function writeCall(request: ChatRequest, target: Target, apiKey: string): HttpCall {
  const body: Record<string, unknown> = { ...request, model: target.model }
  if (request.stream) body.stream_options = { ...request.stream_options, include_usage: true }
  if (target.entry?.reasoning) renameTokenLimit(body)
  const omitted = target.entry ? omitUnsupported(body, target.entry) : []
  return {
    path: '/chat/completions',
    headers: writeHeaders(apiKey, request.stream === true),
    body: JSON.stringify(body),
    omitted,
  }
}

/** Reasoning models refuse `max_tokens`, even beside its successor. */
function renameTokenLimit(body: Record<string, unknown>): void {
  body.max_completion_tokens ??= body.max_tokens ?? undefined
  body.max_tokens = undefined
}

const SAMPLING = [
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'logprobs',
  'top_logprobs',
  'logit_bias',
] as const

/** Setting a field to undefined leaves it out of the JSON, and keeps the object's shape. */
function omitUnsupported(body: Record<string, unknown>, model: Model): readonly string[] {
  if (model.sampling) return []
  const omitted = SAMPLING.filter((field) => body[field] != null)
  for (const field of SAMPLING) body[field] = undefined
  return omitted
}
