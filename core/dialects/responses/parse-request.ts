import {
  type ChatRequest,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Message,
  type Tool,
} from '../../contract/index.ts'
import { compileParser } from '../../util/json-schema.ts'
import { parseItems } from './parse-input-items.ts'
import {
  type FlatTool,
  type ResponsesBody,
  responsesRequestSchema,
  type TextFormat,
} from './request-schema.ts'

const validateBody = compileParser(responsesRequestSchema)

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
]

/**
 * Validates a body. Throws 400 for an invalid field, and for a field of OpenAI's API that is not supported.
 */
export function parseResponsesBody(value: JsonObject): ResponsesBody {
  const body = validateBody(value)
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

/** Builds the canonical request from the instructions, the messages of earlier turns and the call's input. */
export function parseResponsesRequest(
  body: ResponsesBody,
  earlier: readonly Message[],
  input: readonly Message[],
): ChatRequest {
  const { model, instructions, max_output_tokens, reasoning, text, stream } = body
  const tools = toChatTools(body.tools ?? [], body.tool_choice)
  return {
    ...(model != null && { model }),
    messages: [...toSystemMessages(instructions), ...earlier, ...input],
    ...pickSharedFields(body),
    ...(stream === true && { stream }),
    ...(max_output_tokens != null && { max_tokens: max_output_tokens }),
    ...(reasoning?.effort != null && { reasoning_effort: reasoning.effort }),
    ...(text?.verbosity != null && { verbosity: text.verbosity }),
    ...(text?.format != null &&
      text.format.type !== 'text' && { response_format: toResponseFormat(text.format) }),
    // Providers reject tool options without tools.
    ...(tools.length > 0 && {
      tools,
      ...toChatToolChoice(body.tool_choice),
      ...(body.parallel_tool_calls != null && { parallel_tool_calls: body.parallel_tool_calls }),
    }),
  }
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

/**
 * Converts tools to the chat-completions format. Drops those that `allowed_tools` does not list. Throws 400
 * for a hosted tool.
 */
function toChatTools(flatTools: readonly FlatTool[], choice: ResponsesBody['tool_choice']): readonly Tool[] {
  const tools = flatTools.map(toChatTool)
  if (!isJsonObject(choice) || choice.type !== 'allowed_tools') return tools
  const allowed = allowedNames(choice)
  return tools.filter((tool) => allowed.includes(tool.function?.name))
}

/**
 * Converts `tool_choice` to the chat-completions format. `allowed_tools` becomes its mode, because
 * `toChatTools` has already applied its list.
 */
function toChatToolChoice(choice: ResponsesBody['tool_choice']): JsonObject {
  if (choice == null) return {}
  if (typeof choice === 'string') return { tool_choice: choice }
  switch (choice.type) {
    case 'function':
      return { tool_choice: { type: 'function', function: { name: choice.name } } }
    case 'allowed_tools':
      return { tool_choice: choice.mode ?? 'auto' }
    default:
      throw unsupportedToolError('tool_choice', choice.type)
  }
}

function toChatTool({ type, name, description, parameters, strict }: FlatTool, index: number): Tool {
  if (type !== 'function' || typeof name !== 'string') throw unsupportedToolError(`tools[${index}]`, type)
  return {
    type,
    function: {
      name,
      ...(description != null && { description }),
      ...(isJsonObject(parameters) && { parameters }),
      ...(strict != null && { strict }),
    },
  }
}

function allowedNames({ tools }: JsonObject): readonly unknown[] {
  return Array.isArray(tools) ? tools.filter(isJsonObject).map(({ name }) => name) : []
}

function unsupportedToolError(param: string, type: unknown): GatewayError {
  const message =
    `${param} has type "${type}", which is not supported. ` +
    'Only function tools are supported; hosted tools run only at OpenAI.'
  return new GatewayError('unsupported_parameter', message, { param })
}
