import type { Target } from '../../core/contract/provider.ts'
import type { Family } from './family.ts'
import type { ThinkingConfig, ThinkingLevel } from './wire.ts'

/** The efforts that clients ask for, least first. */
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

type Effort = (typeof EFFORTS)[number]

function isEffort(value: unknown): value is Effort {
  return (EFFORTS as readonly unknown[]).includes(value)
}

/** How much the model thinks, and that it shows its thoughts when it was asked to think: https://ai.google.dev/gemini-api/docs/thinking */
export function writeThinking(effort: unknown, target: Target, family: Family): ThinkingConfig | undefined {
  if (!isEffort(effort) || family === 'gemma') return undefined
  const amount =
    family === 'gemini-2'
      ? { thinkingBudget: chooseBudget(effort, target.model) }
      : { thinkingLevel: chooseLevel(effort, target.entry?.quirks.efforts ?? DEFAULT_EFFORTS) }
  return effort === 'none' ? amount : { ...amount, includeThoughts: true }
}

/** What every model from Gemini 3 on takes; some also take `minimal`. */
const DEFAULT_EFFORTS = ['low', 'medium', 'high']

const LEVELS = new Map<string, ThinkingLevel>([
  ['minimal', 'MINIMAL'],
  ['low', 'LOW'],
  ['medium', 'MEDIUM'],
  ['high', 'HIGH'],
])

/** The most that the model can do without going over what was asked, or else the least it can do: none cannot think at all. */
function chooseLevel(effort: Effort, efforts: readonly string[]): ThinkingLevel {
  const offered = EFFORTS.filter((each) => efforts.includes(each) && LEVELS.has(each))
  const chosen = offered.findLast((each) => EFFORTS.indexOf(each) <= EFFORTS.indexOf(effort)) ?? offered[0]
  return LEVELS.get(chosen ?? 'low') ?? 'LOW'
}

/** In tokens. The values of Google's own OpenAI-compatible endpoint; 2.5 Pro cannot stop thinking. */
const BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}

function chooseBudget(effort: Effort, model: string): number {
  return effort === 'none' && model.includes('pro') ? 128 : BUDGETS[effort]
}
