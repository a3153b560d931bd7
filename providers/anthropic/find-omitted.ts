import type { ChatRequest } from '../../core/contract/chat.ts'
import type { MessagesBody } from './wire.ts'

/** The fields of a request that shape the answer and that its body does not carry, for the caller to be warned. */
export function findOmitted(request: ChatRequest, body: MessagesBody): readonly string[] {
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
