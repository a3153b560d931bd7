import { GatewayError, isJsonObject, type JsonObject, type ReplyPart } from '../../../core/contract/index.ts'
import { createResponseOutput } from '../../shared/responses-format/output.ts'
import type { OutputEvent } from '../../shared/responses-format/output-items.ts'
import {
  parseResponsesBody,
  parseResponsesInput,
  parseResponsesRequest,
} from '../../shared/responses-format/parse-request.ts'
import { isIssuedReasoning, issueReasoning } from '../shared/issued-reasoning.ts'
import { countSearches, type ModelReply, SAMPLE_PNG } from '../shared/model-reply.ts'
import { splitText } from '../shared/tokens.ts'
import { fieldSet } from '../shared/unknown-fields.ts'
import { type ChatCall, SandboxError, type StreamEvents } from '../shared/wire-format.ts'
import { parseOpenAiRequest } from './request.ts'
import { checkResponseLimits } from './validate-request.ts'

/** Parses a request of OpenAI's Responses API. Throws a `SandboxError` (400) if OpenAI would reject it. */
export function parseSandboxResponse(body: unknown): ChatCall {
  if (!isJsonObject(body)) throw new SandboxError(400, 'We could not parse the JSON body of your request.')
  checkResponseLimits(body)
  const unknownFields = Object.keys(body)
    .filter((name) => !KNOWN_FIELDS.has(name))
    .sort()
  checkEncryptedContent(body)
  checkAssistantContent(body)
  const isEncrypted = Array.isArray(body.include) && body.include.includes('reasoning.encrypted_content')
  return {
    request: parseOpenAiRequest(toChatBody(body)),
    isStream: body.stream === true,
    checkReasoning: () => checkReasoning(body),
    toBody: (reply) => JSON.stringify(toResponse(reply, unknownFields, isEncrypted)),
    toStream: (reply) => toStream(reply, unknownFields, isEncrypted),
  }
}

/** Throws a `SandboxError` (400) for encrypted reasoning that OpenAI did not issue. */
function checkEncryptedContent({ input }: JsonObject): void {
  for (const { type, encrypted_content: data } of itemsIn(input)) {
    if (type !== 'reasoning' || data == null || isIssuedReasoning('openai', data)) continue
    const message =
      'The encrypted content could not be verified. Reason: it could not be decrypted or parsed.'
    throw new SandboxError(400, message, { param: 'input', code: 'invalid_encrypted_content' })
  }
}

/** Throws a `SandboxError` (400) for parts of an earlier reply that are none of the model's. */
function checkAssistantContent({ input }: JsonObject): void {
  for (const [index, { role, content }] of itemsIn(input).entries()) {
    if (role !== 'assistant' || !Array.isArray(content)) continue
    const partIndex = content.findIndex(({ type }) => type !== 'output_text' && type !== 'refusal')
    if (partIndex === -1) continue
    const { type } = content[partIndex]
    const message = `Invalid value: '${type}'. Supported values are: 'output_text' and 'refusal'.`
    const param = `input[${index}].content[${partIndex}]`
    throw new SandboxError(400, message, { param, code: 'invalid_value' })
  }
}

/** Calls that no message of the user follows need reasoning before them. */
function checkReasoning({ input }: JsonObject): void {
  const items = itemsIn(input)
  const start = items.findLastIndex(({ role }) => role === 'user')
  let before: JsonObject | undefined
  for (const item of items.slice(start + 1)) {
    if (item.type !== 'function_call') before = item
    else if (before?.type !== 'reasoning' || before.encrypted_content == null)
      throw new SandboxError(400, `Item '${item.call_id}' was provided without its 'reasoning' item.`, {
        param: 'input',
      })
  }
}

function itemsIn(input: unknown): readonly JsonObject[] {
  return Array.isArray(input) ? input.filter(isJsonObject) : []
}

const KNOWN_FIELDS = fieldSet(
  `model input instructions stream stream_options store background conversation previous_response_id include
  max_output_tokens max_tool_calls metadata parallel_tool_calls prompt prompt_cache_key prompt_cache_retention
  prompt_cache_options reasoning safety_identifier service_tier temperature text tool_choice tools
  top_logprobs top_p truncation user context_management moderation`,
)

function toChatBody(value: JsonObject): JsonObject {
  try {
    const body = parseResponsesBody(value)
    return { ...parseResponsesRequest(body, [], parseResponsesInput(body)) }
  } catch (error) {
    if (!GatewayError.isInstance(error)) throw error
    const { param } = error.details
    throw new SandboxError(400, error.message, param === undefined ? {} : { param })
  }
}

function toResponse(reply: ModelReply, unknownFields: readonly string[], isEncrypted: boolean): JsonObject {
  const output = createResponseOutput(reply.id)
  for (const part of toParts(reply, isEncrypted)) output.add(part)
  output.close(isIncomplete(reply) ? 'incomplete' : 'completed')
  return {
    ...toEnvelope(reply, unknownFields),
    ...toEnd(reply),
    output: [...toSearches(reply), ...output.items()],
  }
}

function toStream(reply: ModelReply, unknownFields: readonly string[], isEncrypted: boolean): StreamEvents {
  const events: OutputEvent[] = []
  const output = createResponseOutput(reply.id, { emit: (event) => events.push(event) })
  const response = { ...toEnvelope(reply, unknownFields), status: 'in_progress', output: [] }
  for (const type of ['response.created', 'response.in_progress']) events.push({ type, response })
  for (const part of toParts(reply, isEncrypted)) output.add(part)
  output.close(isIncomplete(reply) ? 'incomplete' : 'completed')
  const end = { ...response, ...toEnd(reply), output: [...toSearches(reply), ...output.items()] }
  const content = events.map(toEvent)
  return { content, closing: [toEvent({ type: `response.${end.status}`, response: end }, content.length)] }
}

function toEvent({ type, ...fields }: OutputEvent, sequence_number: number) {
  return { event: type, data: JSON.stringify({ type, sequence_number, ...fields }) }
}

function toEnvelope({ id, created, model, usage }: ModelReply, unknownFields: readonly string[]): JsonObject {
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: created,
    model,
    service_tier: usage.tier ?? 'default',
    error: null,
    incomplete_details: null,
    x_sandbox: { unknown_fields: unknownFields },
  }
}

/** Searches are items of the finished response only. */
function toSearches(reply: ModelReply): readonly JsonObject[] {
  return Array.from({ length: countSearches(reply) }, (_, index) => ({
    type: 'web_search_call',
    id: `ws_${reply.id}_${index}`,
    status: 'completed',
    action: { type: 'search', query: 'sandbox' },
  }))
}

function isIncomplete({ finish }: ModelReply): boolean {
  return finish === 'length' || finish === 'content_filter'
}

function toEnd(reply: ModelReply) {
  const { input, output, cached = 0, reasoning = 0 } = reply.usage
  const reason = reply.finish === 'length' ? 'max_output_tokens' : 'content_filter'
  return {
    status: isIncomplete(reply) ? 'incomplete' : 'completed',
    ...(isIncomplete(reply) && { incomplete_details: { reason } }),
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + output,
    },
  }
}

function toParts(
  { reasoning = '', text, refusal = '', media, toolCalls }: ModelReply,
  isEncrypted: boolean,
): readonly ReplyPart[] {
  const openai = { encrypted_content: issueReasoning('openai', reasoning) }
  const encrypted = { type: 'extra', place: 'block', content: { openai } } as const
  return [
    ...splitText(reasoning).map((piece) => ({ type: 'reasoning', text: piece }) as const),
    ...(isEncrypted && reasoning !== '' ? [encrypted] : []),
    ...splitText(text).map((piece) => ({ type: 'text', text: piece }) as const),
    ...splitText(refusal).map((piece) => ({ type: 'refusal', text: piece }) as const),
    ...(media === 'image' ? [{ type: 'image', url: `data:image/png;base64,${SAMPLE_PNG}` } as const] : []),
    ...toolCalls.flatMap(({ id, name, argumentsJson }, index): readonly ReplyPart[] => [
      { type: 'tool-start', index, id, name },
      ...splitText(argumentsJson).map((json) => ({ type: 'tool-json', index, json }) as const),
    ]),
  ]
}
