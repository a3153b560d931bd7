import {
  type ChatRequest,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Message,
  type Warning,
} from '../../../core/contract/index.ts'
import { checkToolChoice } from '../../../core/dialects/check-request.ts'
import { createLazyParser } from '../../../core/util/json-schema.ts'
import { findOmittedTools, toChatToolChoice, toChatTools } from './client-tools.ts'
import { findItemWarnings, parseItems } from './input-items.ts'
import {
  type FlatTool,
  type ResponsesBody,
  responsesRequestSchema,
  type TextFormat,
} from './request-schema.ts'

/**
 * Converts the forms of other clients to those of OpenAI's Responses API: tools, choices and schemas that are
 * nested as in chat completions, and the items and parts of TokenRouter's SDK. Returns the same body if it
 * has none. Nothing is validated here.
 */
function toOpenAiForm(body: JsonObject): JsonObject {
  const { tools, tool_choice, text, input } = body
  const format = isJsonObject(text) ? text.format : undefined
  return withChanges(body, {
    tools: mapList(tools, toFlatFunction),
    tool_choice: toFlatFunction(tool_choice),
    text: isJsonObject(text) ? withChanges(text, { format: toFlatFormat(format) }) : text,
    input: mapList(input, toOpenAiItem),
  })
}

/** Returns the same object if all fields have the same values. */
function withChanges(object: JsonObject, fields: JsonObject): JsonObject {
  const changed = Object.keys(fields).filter((name) => fields[name] !== object[name])
  return changed.length === 0
    ? object
    : { ...object, ...Object.fromEntries(changed.map((name) => [name, fields[name]])) }
}

/** Returns the same value if it is not a list, or if no element changes. */
function mapList(list: unknown, convert: (element: unknown) => unknown): unknown {
  if (!Array.isArray(list)) return list
  const converted = list.map(convert)
  return converted.some((element, index) => element !== list[index]) ? converted : list
}

/** `{type: "function", function: {name, …}}` is the form of chat completions. */
function toFlatFunction(tool: unknown): unknown {
  if (!isJsonObject(tool) || tool.type !== 'function') return tool
  const { function: nested, ...fields } = tool
  return isJsonObject(nested) && fields.name === undefined ? { ...fields, ...nested } : tool
}

/** Chat completions nest name and schema in `json_schema`. TokenRouter's SDK takes the schema itself, too. */
function toFlatFormat(format: unknown): unknown {
  if (!isJsonObject(format) || format.type !== 'json_schema') return format
  const { json_schema: nested, ...fields } = format
  if (!isJsonObject(nested) || fields.schema !== undefined) return format
  return isJsonObject(nested.schema)
    ? { name: 'response', ...fields, ...nested }
    : { name: 'response', ...fields, schema: nested }
}

function toOpenAiItem(item: unknown): unknown {
  if (!isJsonObject(item)) return item
  if (item.type === 'tool_result' || item.type === 'function_result') return toCallOutput(item)
  const content = mapList(item.content, toOpenAiPart)
  return content === item.content ? item : { ...item, content }
}

/** The result is in `output`, or in `content` as in messages. */
function toCallOutput({
  type: _,
  tool_call_id,
  call_id,
  output,
  content,
  ...fields
}: JsonObject): JsonObject {
  const result = output ?? mapList(content, toOpenAiPart)
  return { ...fields, type: 'function_call_output', call_id: call_id ?? tool_call_id, output: result }
}

function toOpenAiPart(part: unknown): unknown {
  if (!isJsonObject(part)) return part
  if (part.type === 'input_image' && isJsonObject(part.image_url)) {
    const { url, detail } = part.image_url
    return { ...part, image_url: url, ...(detail != null && { detail }) }
  }
  if (part.type === 'input_audio' && part.input_audio === undefined && part.audio !== undefined) {
    const { audio, ...fields } = part
    return { ...fields, input_audio: audio }
  }
  return part
}

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
