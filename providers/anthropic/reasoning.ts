import type { ChatRequest } from '../../core/contract/chat.ts'
import type { Model } from '../../core/contract/provider.ts'
import { findNearestEffort } from '../shared/efforts.ts'
import { ANTHROPIC_QUIRKS, quirksOf } from '../shared/quirks.ts'
import { invalidValueError } from '../shared/request-errors.ts'
import { endsWithSignedThinking } from './messages.ts'
import type { AnthropicEffort, AnthropicThinking } from './wire.ts'

interface ReasoningFields {
  /** The output limit, increased by the thinking budget where there is one. */
  readonly max_tokens: number
  readonly thinking?: AnthropicThinking
  readonly effort?: AnthropicEffort
}

/**
 * The output limit, and how much to think for a `reasoning_effort`
 * (docs/providers.md, "Anthropic"). Thinking cannot be combined with a forced tool call. Throws a
 * `GatewayError` for an unknown effort.
 */
export function toAnthropicReasoning(
  request: ChatRequest,
  entry: Model | undefined,
  isToolCallForced: boolean,
): ReasoningFields {
  const max_tokens = toMaxTokens(request, entry)
  const requested = parseEffort(request.reasoning_effort)
  if (requested === undefined) return { max_tokens }
  const quirks = quirksOf(ANTHROPIC_QUIRKS, entry)
  if (entry && quirks.thinking === 'budget') {
    const isComplete = !hasPendingToolCalls(request) || endsWithSignedThinking(request, false)
    const canThink = requested !== 'none' && !isToolCallForced && isComplete
    return canThink ? withBudget(BUDGETS[requested], max_tokens, entry.max_output) : { max_tokens }
  }
  if (requested === 'none') return { max_tokens, ...disableThinking(entry) }
  const effort = (findNearestEffort(requested, quirks.efforts ?? EFFORTS) ?? requested) as AnthropicEffort
  return isToolCallForced
    ? { max_tokens, effort }
    : { max_tokens, effort, thinking: { type: 'adaptive', display: 'summarized' } }
}

/** For models without a row in the catalogue. */
const DEFAULT_MAX_TOKENS = 4096

function toMaxTokens({ max_completion_tokens, max_tokens }: ChatRequest, entry: Model | undefined): number {
  const limit = max_completion_tokens ?? max_tokens ?? entry?.max_output ?? DEFAULT_MAX_TOKENS
  return Math.min(limit, entry?.max_output ?? limit)
}

const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const

function parseEffort(value: unknown): AnthropicEffort | 'none' | undefined {
  if (value == null) return undefined
  if (value === 'none') return 'none'
  const effort = EFFORTS.find((each) => each === (value === 'minimal' ? 'low' : value))
  if (effort) return effort
  const known = ['none', 'minimal', ...EFFORTS].join(', ')
  throw invalidValueError('reasoning_effort', `must be one of: ${known}.`)
}

/** In tokens. */
const BUDGETS: Readonly<Record<AnthropicEffort, number>> = {
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_768,
  max: 63_000,
}

/** Output tokens that a budget leaves for the reply. */
const MIN_REPLY_TOKENS = 1000

/** Thinking counts against `max_tokens`, so the budget is added to it. */
function withBudget(budget: number, maxTokens: number, maxOutput: number): ReasoningFields {
  const budget_tokens = Math.min(budget, maxOutput - MIN_REPLY_TOKENS)
  return {
    max_tokens: Math.min(maxTokens + budget_tokens, maxOutput),
    thinking: { type: 'enabled', budget_tokens },
  }
}

/**
 * With a budget, Anthropic requires the thinking blocks before the tool calls of the last reply
 * (docs/providers.md, "Anthropic").
 */
export function hasPendingToolCalls({ messages }: ChatRequest): boolean {
  const last = messages.findLast(({ role }) => role === 'assistant')
  return (last?.tool_calls?.length ?? 0) > 0
}

/** Models that cannot disable thinking get the lowest effort. */
function disableThinking(entry: Model | undefined): Pick<ReasoningFields, 'thinking' | 'effort'> {
  const type = quirksOf(ANTHROPIC_QUIRKS, entry).thinking_off
  return type ? { thinking: { type } } : { effort: 'low' }
}
