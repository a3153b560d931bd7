import type { IncomingHttpHeaders } from 'node:http'
import { type ChatRequest, GatewayError, type JsonObject, type Tool } from '../../contract/index.ts'
import { createLazyParser } from '../../util/json-schema.ts'
import { checkResponseFormat, checkToolChoice } from '../check-request.ts'
import { parseMessages, toExtraContent } from './parse-messages.ts'
import { countTokensRequestSchema, type MessagesBody, messagesRequestSchema } from './request-schema.ts'

const parseBody = createLazyParser(messagesRequestSchema)
const parseCountBody = createLazyParser(countTokensRequestSchema)

/** Converts a body of `POST /v1/messages` to a canonical request. Throws 400 with the invalid parameter. */
export function parseMessagesRequest(body: JsonObject, headers: IncomingHttpHeaders): ChatRequest {
  return toChatRequest(parseBody(body), headers)
}

/** The same for `POST /v1/messages/count_tokens`. */
export function parseCountTokensRequest(body: JsonObject, headers: IncomingHttpHeaders): ChatRequest {
  return toChatRequest(parseCountBody(body), headers)
}

function toChatRequest(body: MessagesBody, headers: IncomingHttpHeaders): ChatRequest {
  const { model, messages, system, max_tokens, temperature, top_p, stop_sequences, stream, ...rest } = body
  const { tools: toolInputs, tool_choice, ...fields } = rest
  const { metadata, thinking, output_config, thread } = fields
  if (thread != null) throw threadError()
  const effort = toReasoningEffort(thinking, output_config)
  const user = metadata?.user_id
  const tools = (toolInputs ?? []).map(toChatTool)
  const toolChoice = toToolChoice(tool_choice)
  checkToolChoice({ tools, ...toolChoice })
  if (output_config?.format != null) checkResponseFormat(output_config.format, 'output_config.format')
  return {
    ...(model != null && { model }),
    messages: parseMessages(system, messages),
    ...(max_tokens != null && { max_tokens }),
    ...(temperature != null && { temperature }),
    ...(top_p != null && { top_p }),
    ...(stop_sequences != null && stop_sequences.length > 0 && { stop: stop_sequences }),
    ...(stream === true && { stream }),
    ...(metadata != null && { metadata }),
    ...(user != null && user.length <= MAX_USER_CHARS && { user }),
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(tools.length > 0 && { tools, ...toolChoice }),
    extra_content: { anthropic: { ...parseHeaders(headers), fields } },
  }
}

/** Other providers reject longer ids. Anthropic receives `metadata` itself. */
const MAX_USER_CHARS = 64

/** Throws 400 for a tool without a name or a schema, unless it is one that Anthropic provides. */
function toChatTool(tool: NonNullable<MessagesBody['tools']>[number], index: number): Tool {
  const { name, type, description, input_schema, strict, ...others } = tool
  if (type != null && type !== 'custom') return { type: 'extra_content', extra_content: { anthropic: tool } }
  if (name === undefined || name === '') throw missingFieldError(`tools[${index}].name`)
  if (input_schema == null) throw missingFieldError(`tools[${index}].input_schema`)
  return {
    type: 'function',
    function: {
      name,
      ...(description != null && { description }),
      parameters: input_schema,
      ...(strict != null && { strict }),
    },
    ...toExtraContent({ type, ...others }),
  }
}

function toToolChoice(choice: MessagesBody['tool_choice']): Partial<ChatRequest> {
  if (choice == null) return {}
  const { type, name, disable_parallel_tool_use } = choice
  const parallel = disable_parallel_tool_use === true && { parallel_tool_calls: false }
  if (type !== 'tool') return { tool_choice: type === 'any' ? 'required' : type, ...parallel }
  if (name !== undefined) return { tool_choice: { type: 'function', function: { name } }, ...parallel }
  throw missingFieldError('tool_choice.name')
}

function missingFieldError(param: string): GatewayError {
  return new GatewayError('missing_parameter', `${param} is required.`, { param })
}

/** Anthropic's SDKs send the whole conversation after this error, which their tool runners first do not. */
function threadError(): GatewayError {
  const message = 'Threads are not supported. Send the whole conversation without "thread".'
  const code = 'thread_unsupported_request'
  return new GatewayError(code, message, { param: 'thread', wireCode: code })
}

/** Budgets of thinking up to these numbers of tokens count as these efforts. */
const LOW_BUDGET = 4096
const MEDIUM_BUDGET = 12_000

/** What the thinking of Anthropic's models is to models of others. */
function toReasoningEffort(
  thinking: MessagesBody['thinking'],
  config: MessagesBody['output_config'],
): string | undefined {
  const type = thinking?.type
  if (type === 'disabled') return undefined
  const effort = config?.effort
  if (effort != null) return effort === 'low' || effort === 'medium' ? effort : 'high'
  if (type === undefined) return undefined
  const budget = type === 'enabled' ? (thinking?.budget_tokens ?? 0) : MEDIUM_BUDGET
  if (budget <= LOW_BUDGET) return 'low'
  return budget <= MEDIUM_BUDGET ? 'medium' : 'high'
}

/** The headers that choose a version and features of Anthropic's API. */
function parseHeaders(headers: IncomingHttpHeaders): JsonObject {
  const version = headers['anthropic-version']
  const betas = String(headers['anthropic-beta'] ?? '')
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '')
  if (version !== undefined && !/^\d{4}-\d{2}-\d{2}$/.test(String(version)))
    throw headerError('anthropic-version', 'a date, such as 2023-06-01')
  if (!betas.every((beta) => /^[\w.-]{1,100}$/.test(beta)))
    throw headerError('anthropic-beta', 'a list of names, separated by commas')
  return { ...(version !== undefined && { version }), ...(betas.length > 0 && { betas }) }
}

function headerError(name: string, form: string): GatewayError {
  return new GatewayError('invalid_value', `The header ${name} must be ${form}.`, { param: name })
}
