import type { ChatRequest } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { Model } from '../../core/contract/provider.ts'
import type { Effort, Thinking } from './wire.ts'

interface ThinkingPlan {
  /** The limit on the answer, with room for thoughts where they have a budget of their own. */
  readonly max_tokens: number
  readonly thinking?: Thinking
  readonly effort?: Effort
}

/**
 * The token limit and how much to think, by `reasoning_effort` (docs/providers.md, "Anthropic reasoning"). A forced tool call excludes thoughts.
 * Throws a `GatewayError` for an effort that does not exist.
 */
export function writeThinking(
  request: ChatRequest,
  entry: Model | undefined,
  isForced: boolean,
): ThinkingPlan {
  const max_tokens = readLimit(request, entry)
  const asked = readEffort(request.reasoning_effort)
  if (asked === undefined) return { max_tokens }
  if (entry?.quirks.thinking === 'budget') {
    const thinks = asked !== 'none' && !isForced && !endsInToolCall(request)
    return thinks ? writeBudget(BUDGETS[asked], max_tokens, entry.max_output) : { max_tokens }
  }
  if (asked === 'none') return { max_tokens, ...switchOff(entry) }
  const effort = lowerOrRaise(asked, entry?.quirks.efforts)
  return isForced
    ? { max_tokens, effort }
    : { max_tokens, effort, thinking: { type: 'adaptive', display: 'summarized' } }
}

/** For models that are not in the catalogue, which says more. */
const DEFAULT_LIMIT = 4096

function readLimit({ max_completion_tokens, max_tokens }: ChatRequest, entry: Model | undefined): number {
  const limit = max_completion_tokens ?? max_tokens ?? entry?.max_output ?? DEFAULT_LIMIT
  return Math.min(limit, entry?.max_output ?? limit)
}

const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const

function readEffort(value: unknown): Effort | 'none' | undefined {
  if (value == null) return undefined
  if (value === 'none') return 'none'
  const effort = EFFORTS.find((each) => each === (value === 'minimal' ? 'low' : value))
  if (effort) return effort
  const known = ['none', 'minimal', ...EFFORTS].join(', ')
  throw new GatewayError('invalid_value', `reasoning_effort must be one of: ${known}.`, {
    param: 'reasoning_effort',
  })
}

const BUDGETS: Readonly<Record<Effort, number>> = {
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_768,
  max: 63_000,
}
const SMALLEST_ANSWER = 1000

/** Thoughts count against `max_tokens`, so the limit on the answer is raised by the budget. */
function writeBudget(wanted: number, limit: number, maxOutput: number): ThinkingPlan {
  const budget_tokens = Math.min(wanted, maxOutput - SMALLEST_ANSWER)
  return {
    max_tokens: Math.min(limit + budget_tokens, maxOutput),
    thinking: { type: 'enabled', budget_tokens },
  }
}

/** With a budget, Anthropic wants a tool call back with the thoughts before it, which our format cannot carry (docs/providers.md, "Anthropic limits"). */
function endsInToolCall({ messages }: ChatRequest): boolean {
  const last = messages.findLast(({ role }) => role === 'assistant')
  return (last?.tool_calls?.length ?? 0) > 0
}

function switchOff(entry: Model | undefined): Pick<ThinkingPlan, 'thinking' | 'effort'> {
  const type = entry?.quirks.thinking_off
  return type ? { thinking: { type } } : { effort: 'low' }
}

/** The effort itself where the model has it, else the next higher one, else its highest. */
function lowerOrRaise(asked: Effort, known: readonly string[] = EFFORTS): Effort {
  const efforts = EFFORTS.filter((each) => known.includes(each))
  const rank = EFFORTS.indexOf(asked)
  return efforts.find((each) => EFFORTS.indexOf(each) >= rank) ?? efforts.at(-1) ?? asked
}
