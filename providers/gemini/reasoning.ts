import type { Target } from '../../core/contract/provider.ts'
import type { GeminiFamily, ThinkingConfig, ThinkingLevel } from './wire.ts'

/** The values of `reasoning_effort`, in ascending order. */
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

type Effort = (typeof EFFORTS)[number]

/**
 * How much the model thinks for a `reasoning_effort`, and that it shows its thoughts unless the effort is
 * `none`: https://ai.google.dev/gemini-api/docs/thinking and docs/providers.md, "Gemini reasoning". Undefined
 * for Gemma, and for an unknown effort.
 */
export function toGeminiReasoning(
  effort: unknown,
  target: Target,
  family: GeminiFamily,
): ThinkingConfig | undefined {
  if (!isEffort(effort) || family === 'gemma') return undefined
  const amount =
    family === 'gemini-2'
      ? { thinkingBudget: toBudget(effort, target.model) }
      : { thinkingLevel: toLevel(effort, target.entry?.quirks.efforts ?? DEFAULT_EFFORTS) }
  return effort === 'none' ? amount : { ...amount, includeThoughts: true }
}

function isEffort(value: unknown): value is Effort {
  return (EFFORTS as readonly unknown[]).includes(value)
}

/** What all models from Gemini 3 on support; some also support `minimal`. */
const DEFAULT_EFFORTS = ['low', 'medium', 'high']

const LEVELS = new Map<string, ThinkingLevel>([
  ['minimal', 'MINIMAL'],
  ['low', 'LOW'],
  ['medium', 'MEDIUM'],
  ['high', 'HIGH'],
])

/** The highest supported level up to the effort, else the lowest: no model can stop thinking altogether. */
function toLevel(effort: Effort, supported: readonly string[]): ThinkingLevel {
  const levels = EFFORTS.filter((each) => supported.includes(each) && LEVELS.has(each))
  const chosen = levels.findLast((each) => EFFORTS.indexOf(each) <= EFFORTS.indexOf(effort)) ?? levels[0]
  return LEVELS.get(chosen ?? 'low') ?? 'LOW'
}

/** In tokens; the values of Google's own OpenAI-compatible endpoint. */
const BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}

/** The minimum of 2.5 Pro, which cannot stop thinking. */
const MIN_BUDGET_OF_PRO = 128

function toBudget(effort: Effort, model: string): number {
  return effort === 'none' && model.includes('pro') ? MIN_BUDGET_OF_PRO : BUDGETS[effort]
}
