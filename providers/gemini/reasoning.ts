import type { Target } from '../../core/contract/provider.ts'
import { EFFORTS, findNearestEffort } from '../shared/efforts.ts'
import { GEMINI_QUIRKS, quirksOf } from '../shared/quirks.ts'
import type { GeminiFamily, ThinkingConfig, ThinkingLevel } from './wire.ts'

/**
 * How much the model thinks for a `reasoning_effort`, and that it shows its thoughts unless the effort is
 * `none`: https://ai.google.dev/gemini-api/docs/thinking and docs/providers.md, "Gemini". Undefined
 * for Gemma, and for an unknown effort.
 */
export function toGeminiReasoning(
  effort: unknown,
  target: Target,
  family: GeminiFamily,
): ThinkingConfig | undefined {
  if (typeof effort !== 'string' || !EFFORTS.includes(effort) || family === 'gemma') return undefined
  const amount =
    family === 'gemini-2'
      ? { thinkingBudget: toBudget(effort, target.model) }
      : { thinkingLevel: toLevel(effort, quirksOf(GEMINI_QUIRKS, target.entry).efforts ?? DEFAULT_EFFORTS) }
  return effort === 'none' ? amount : { ...amount, includeThoughts: true }
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
function toLevel(effort: string, supported: readonly string[]): ThinkingLevel {
  const levels = supported.filter((each) => LEVELS.has(each))
  return LEVELS.get(findNearestEffort(effort, levels, 'lower') ?? 'low') ?? 'LOW'
}

/** In tokens; the values of Google's own OpenAI-compatible endpoint. */
const BUDGETS: Readonly<Record<string, number>> = {
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

function toBudget(effort: string, model: string): number {
  return effort === 'none' && model.includes('pro') ? MIN_BUDGET_OF_PRO : (BUDGETS[effort] ?? 0)
}
