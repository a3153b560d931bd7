import {
  type ChatRequest,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Message,
  type Tool,
} from '../../contract/index.ts'
import { compileParser } from '../../util/json-schema.ts'
import { parseItems } from './parse-items.ts'
import {
  type FlatTool,
  type ResponsesBody,
  responsesRequestSchema,
  type TextFormat,
} from './request-schema.ts'

const checkBody = compileParser<ResponsesBody>(responsesRequestSchema)

/** Fields that ask for what only OpenAI's own servers do. */
const UNSUPPORTED = [
  'background',
  'conversation',
  'prompt',
  'context_management',
  'max_tool_calls',
  'moderation',
  'top_logprobs',
]

/** Fields that mean the same in chat completions. */
const SHARED = [
  'temperature',
  'top_p',
  'metadata',
  'user',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
]

/** Checks a body; throws 400 that names the field at fault, also for what is known but not served here. */
export function parseResponsesBody(given: JsonObject): ResponsesBody {
  const body = checkBody(given)
  for (const param of UNSUPPORTED) {
    if (!body[param]) continue
    throw new GatewayError('unsupported_parameter', `${param} is not supported. Leave it out.`, { param })
  }
  return body
}

/** What the call says, without what was said before. */
export function parseResponsesInput({ input }: ResponsesBody): readonly Message[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : parseItems(input, 'input')
}

/** The canonical request: the instructions, what was said before, what the call says. */
export function parseResponsesRequest(
  body: ResponsesBody,
  earlier: readonly Message[],
  input: readonly Message[],
): ChatRequest {
  const { model, instructions, max_output_tokens, reasoning, text, stream } = body
  const offer = readTools(body.tools ?? [], body.tool_choice)
  return {
    ...(model !== undefined && { model }),
    messages: [...readInstructions(instructions), ...earlier, ...input],
    ...pickShared(body),
    ...(stream === true && { stream }),
    ...(max_output_tokens != null && { max_tokens: max_output_tokens }),
    ...(reasoning?.effort != null && { reasoning_effort: reasoning.effort }),
    ...(text?.verbosity != null && { verbosity: text.verbosity }),
    ...(text?.format != null && text.format.type !== 'text' && { response_format: readFormat(text.format) }),
    // Providers refuse to hear about tools where there are none.
    ...(offer.length > 0 && {
      tools: offer,
      ...readToolChoice(body.tool_choice),
      ...(body.parallel_tool_calls != null && { parallel_tool_calls: body.parallel_tool_calls }),
    }),
  }
}

function readInstructions(instructions: string | null | undefined): readonly Message[] {
  return instructions ? [{ role: 'system', content: instructions }] : []
}

function pickShared(body: ResponsesBody): JsonObject {
  return Object.fromEntries(SHARED.filter((name) => body[name] != null).map((name) => [name, body[name]]))
}

/** Flat here, nested in chat completions. */
function readFormat({ type, ...schema }: TextFormat): TextFormat {
  return type === 'json_schema' ? { type, json_schema: schema } : { type }
}

/** The functions on offer in chat's form: those of `allowed_tools`, where the choice is limited. 400 for a hosted tool. */
function readTools(tools: readonly FlatTool[], choice: ResponsesBody['tool_choice']): readonly Tool[] {
  const offer = tools.map(readTool)
  const allowed = isJsonObject(choice) && choice.type === 'allowed_tools' ? readAllowed(choice) : undefined
  return allowed ? offer.filter((tool) => allowed.includes(tool.function?.name)) : offer
}

/** `tool_choice` in chat's form. The list of `allowed_tools` was followed in the offer already; its mode is what is left. */
function readToolChoice(choice: ResponsesBody['tool_choice']): JsonObject {
  if (choice == null) return {}
  if (typeof choice === 'string') return { tool_choice: choice }
  switch (choice.type) {
    case 'function':
      return { tool_choice: { type: 'function', function: { name: choice.name } } }
    case 'allowed_tools':
      return { tool_choice: choice.mode ?? 'auto' }
    default:
      throw refuse('tool_choice', choice.type)
  }
}

function readTool({ type, name, description, parameters, strict }: FlatTool, place: number): Tool {
  if (type !== 'function' || typeof name !== 'string') throw refuse(`tools[${place}]`, type)
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

function readAllowed({ tools }: JsonObject): readonly unknown[] {
  return Array.isArray(tools) ? tools.filter(isJsonObject).map(({ name }) => name) : []
}

function refuse(param: string, type: unknown): GatewayError {
  const message = `${param} of type ${type} is not supported: only functions are. Hosted tools run at OpenAI alone.`
  return new GatewayError('unsupported_parameter', message, { param })
}
