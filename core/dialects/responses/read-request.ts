import { type ChatRequest, GatewayError, type JsonObject, type Message } from '../../contract/index.ts'
import { compileParser } from '../../schema.ts'
import { parseItems } from './read-items.ts'
import { readToolChoice, readTools } from './read-tools.ts'
import type { ResponsesBody, TextFormat } from './request.ts'
import { responsesRequestSchema } from './request-schema.ts'

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
    // Vendors refuse to hear about tools where there are none.
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
