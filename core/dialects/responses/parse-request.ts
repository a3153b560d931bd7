import {
  type ChatRequest,
  GatewayError,
  type JsonObject,
  type Message,
  type Warning,
} from '../../contract/index.ts'
import { createLazyParser } from '../../util/json-schema.ts'
import { checkToolChoice } from '../check-request.ts'
import { findOmittedTools, toChatToolChoice, toChatTools } from './client-tools.ts'
import { findItemWarnings } from './foreign-items.ts'
import { toOpenAiForm } from './other-forms.ts'
import { parseItems } from './parse-input-items.ts'
import { type ResponsesBody, responsesRequestSchema, type TextFormat } from './request-schema.ts'
import type { FlatTool } from './tool-schemas.ts'

const validateBody = createLazyParser(responsesRequestSchema)

/** Fields that request features of OpenAI's own servers. */
const UNSUPPORTED_FIELDS = [
  'background',
  'conversation',
  'prompt',
  'context_management',
  'moderation',
  'top_logprobs',
]

/** Fields with the same meaning in chat completions. */
const SHARED_FIELDS = [
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'metadata',
  'user',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prompt_cache_options',
]

/**
 * Validates a body. Throws 400 for an invalid field, and for a field of OpenAI's API that is not supported.
 */
export function parseResponsesBody(value: JsonObject): ResponsesBody {
  if (value.input === undefined && Array.isArray(value.messages)) {
    const message = 'input is required. A body with messages is one for POST /v1/chat/completions.'
    throw new GatewayError('missing_parameter', message, { param: 'input' })
  }
  const body = validateBody(toOpenAiForm(value))
  if (body.input.length === 0 && typeof body.input !== 'string' && body.generate !== false)
    throw new GatewayError('invalid_value', 'input must not be empty.', { param: 'input' })
  for (const param of UNSUPPORTED_FIELDS) {
    if (!body[param]) continue
    throw new GatewayError('unsupported_parameter', `${param} is not supported. Omit it.`, { param })
  }
  return body
}

/** Converts the call's own input to canonical messages, without those of earlier turns. */
export function parseResponsesInput({ input }: ResponsesBody): readonly Message[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : parseItems(input, 'input')
}

/**
 * Builds the canonical request from the instructions, the messages of earlier turns, the call's input, and
 * the tools that searches found in them.
 */
export function parseResponsesRequest(
  body: ResponsesBody,
  earlier: readonly Message[],
  input: readonly Message[],
  loadedTools: readonly FlatTool[] = [],
): ChatRequest {
  const { model, instructions, max_output_tokens, reasoning, text, stream } = body
  const tools = toChatTools(body, loadedTools)
  const toolChoice = toChatToolChoice(body)
  checkToolChoice({ tools, ...toolChoice })
  return {
    ...(model != null && { model }),
    messages: [...toSystemMessages(instructions), ...earlier, ...input],
    ...pickSharedFields(body),
    ...(stream === true && { stream }),
    ...(max_output_tokens != null && { max_tokens: max_output_tokens }),
    ...(reasoning?.effort != null && { reasoning_effort: reasoning.effort }),
    ...toReasoningOptions(body),
    ...(text?.verbosity != null && { verbosity: text.verbosity }),
    ...(text?.format != null &&
      text.format.type !== 'text' && { response_format: toResponseFormat(text.format) }),
    // Providers reject tool options without tools.
    ...(tools.length > 0 && {
      tools,
      ...toolChoice,
      ...(body.parallel_tool_calls != null && { parallel_tool_calls: body.parallel_tool_calls }),
    }),
  }
}

const ENCRYPTED_REASONING = 'reasoning.encrypted_content'

export function asksForEncryptedReasoning({ include }: ResponsesBody): boolean {
  return include?.includes(ENCRYPTED_REASONING) === true
}

/** Options of reasoning that only OpenAI's Responses API has. */
function toReasoningOptions(body: ResponsesBody): Pick<ChatRequest, 'extra_content'> {
  const summary = body.reasoning?.summary
  const openai = {
    ...(asksForEncryptedReasoning(body) && { include: [ENCRYPTED_REASONING] }),
    ...(summary != null && { summary }),
  }
  return Object.keys(openai).length === 0 ? {} : { extra_content: { openai } }
}

function toSystemMessages(instructions: string | null | undefined): readonly Message[] {
  return instructions ? [{ role: 'system', content: instructions }] : []
}

function pickSharedFields(body: ResponsesBody): JsonObject {
  const names = SHARED_FIELDS.filter((name) => body[name] != null)
  return Object.fromEntries(names.map((name) => [name, body[name]]))
}

/** Nests the JSON schema, which is flat in the Responses API, as in chat completions. */
function toResponseFormat({ type, ...schema }: TextFormat): TextFormat {
  return type === 'json_schema' ? { type, json_schema: schema } : { type }
}

/** Returns a warning for each hosted tool and kind of item that is left out. */
export function parseResponsesWarnings(body: JsonObject): Warning[] {
  // The cast is safe: the body was parsed.
  const omitted = findOmittedTools(body as Pick<ResponsesBody, 'tools'>).map((type) => ({
    code: 'parameter',
    message: `tool ${type} was omitted because hosted tools run only at OpenAI.`,
  }))
  return [...omitted, ...findItemWarnings(body)]
}
