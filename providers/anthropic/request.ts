import type { ChatRequest } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject } from '../../core/contract/json.ts'
import type { Model, ProviderRequest, Target } from '../../core/contract/provider.ts'
import { asObject, parseObject } from '../shared/fields.ts'
import { readCacheControl, writePrompt } from './messages.ts'
import { reduceSchema } from './reduce-schema.ts'
import { writeThinking } from './thinking.ts'
import { writeTools } from './tools.ts'
import type { MessagesBody, OutputFormat, Thinking } from './wire.ts'

/** `POST /v1/messages`, by the base URL `https://api.anthropic.com` (docs/providers.md, "Anthropic requests"). */
export function writeCall(request: ChatRequest, target: Target, apiKey: string): ProviderRequest {
  const body = writeBody(request, target)
  return {
    path: '/v1/messages',
    headers: {
      'content-type': 'application/json',
      accept: request.stream ? 'text/event-stream' : 'application/json',
      'x-api-key': apiKey,
      'anthropic-version': '2023-06-01',
    },
    body: JSON.stringify(body),
    omitted: findOmitted(request, body),
  }
}

/**
 * The body, field by field: Anthropic refuses fields that it does not know (docs/providers.md, "Anthropic requests"). Throws a `GatewayError` for
 * content that it cannot take.
 */
function writeBody(request: ChatRequest, { model, entry }: Target): MessagesBody {
  const { tools, tool_choice } = writeTools(request, entry)
  const isForced = tool_choice?.type === 'any' || tool_choice?.type === 'tool'
  const { max_tokens, thinking, effort } = writeThinking(request, entry, isForced)
  const format = writeFormat(request.response_format)
  return {
    model,
    max_tokens,
    ...writePrompt(request),
    tools,
    tool_choice,
    thinking,
    output_config: effort || format ? { effort, format } : undefined,
    ...writeSampling(request, entry, thinking),
    stop_sequences: writeStop(request.stop),
    metadata: writeMetadata(request.user),
    service_tier: readServiceTier(request.service_tier),
    cache_control: readCacheControl(request.cache_control),
    stream: request.stream ? true : undefined,
  }
}

/** Blank sequences are refused. */
function writeStop(stop: ChatRequest['stop']): MessagesBody['stop_sequences'] {
  const sequences = typeof stop === 'string' ? [stop] : (stop ?? [])
  const kept = sequences.filter((sequence) => sequence.trim() !== '')
  return kept.length > 0 ? kept : undefined
}

const LONGEST_USER = 256

/** Only an opaque id: clients that pack JSON into `user` put more into it than Anthropic takes, or should know. */
function writeMetadata(user: string | undefined): MessagesBody['metadata'] {
  if (!user || user.length > LONGEST_USER || parseObject(user)) return undefined
  return { user_id: user }
}

function readServiceTier(tier: unknown): MessagesBody['service_tier'] {
  return tier === 'auto' || tier === 'standard_only' ? tier : undefined
}

/**
 * Nothing for models that refuse sampling, which all new ones do, and none with thoughts; else the temperature in 0 to 1,
 * or `top_p`, never both (docs/providers.md, "Anthropic requests").
 */
function writeSampling(
  { temperature, top_p }: ChatRequest,
  entry: Model | undefined,
  thinking: Thinking | undefined,
): Pick<MessagesBody, 'temperature' | 'top_p'> {
  const thinks = thinking?.type === 'enabled' || thinking?.type === 'adaptive'
  if (!entry?.sampling || thinks) return {}
  if (temperature != null) return { temperature: Math.min(Math.max(temperature, 0), 1) }
  return top_p == null ? {} : { top_p }
}

/** The schema of a `json_schema` answer (docs/providers.md, "Anthropic structured outputs"); undefined for the other formats. */
function writeFormat(format: ChatRequest['response_format']): OutputFormat | undefined {
  if (format?.type !== 'json_schema') return undefined
  const { schema } = asObject(format.json_schema)
  if (isJsonObject(schema)) return { type: 'json_schema', schema: reduceSchema(schema) }
  const param = 'response_format.json_schema.schema'
  throw new GatewayError('missing_parameter', `${param} is missing.`, { param })
}

/** The fields of a request that shape the answer and that its body does not carry, for the caller to be warned. */
function findOmitted(request: ChatRequest, body: MessagesBody): readonly string[] {
  return Object.keys(request).filter((field) => {
    const value = request[field]
    if (value == null || value === NEUTRAL.get(field) || CARRIED.has(field) || BESIDES.has(field))
      return false
    return IS_LEFT_OUT[field]?.(body, request) ?? true
  })
}

const CARRIED = new Set(
  `model messages stream max_tokens max_completion_tokens stop tools parallel_tool_calls response_format
  cache_control`.split(/\s+/),
)

/** About the call, not about the answer: nobody misses them. */
const BESIDES = new Set(
  `stream_options user safety_identifier metadata store service_tier prompt_cache_key
  prompt_cache_retention`.split(/\s+/),
)

/** What asks for what is the case anyway. */
const NEUTRAL = new Map<string, unknown>([
  ['n', 1],
  ['logprobs', false],
  ['presence_penalty', 0],
  ['frequency_penalty', 0],
  ['tool_choice', 'auto'],
  ['reasoning_effort', 'none'],
])

type Check = (body: MessagesBody, request: ChatRequest) => boolean

/** Fields that some models take and others do not. */
const IS_LEFT_OUT: Readonly<Record<string, Check>> = {
  temperature: (body) => body.temperature === undefined,
  top_p: (body) => body.top_p === undefined,
  tool_choice: (body, { tool_choice }) => isForcing(tool_choice) && body.tool_choice?.type === 'auto',
  reasoning_effort: (body) => !body.thinking && !body.output_config?.effort,
}

function isForcing(choice: ChatRequest['tool_choice']): boolean {
  if (typeof choice === 'string') return choice === 'required'
  return choice?.type === 'function'
}
