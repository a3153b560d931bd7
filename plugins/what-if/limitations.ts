import type { DraftEvents } from './draft-events.ts'

/** A plugin that every request passes through. */
export interface ListedPlugin {
  readonly name: string
  readonly isBuiltIn: boolean
  readonly decides: boolean
  /** It may refuse, answer or change requests in another phase. */
  readonly actsElsewhere: boolean
  /** It has events of its own. */
  readonly hasState: boolean
}

interface Limitation {
  readonly code: string
  readonly message: string
}

/** Built-in plugins that refuse or change requests in another phase than `decide`. */
const ACTING: ReadonlyMap<string, string> = new Map([
  ['rate-limit', 'Limits of requests, tokens and concurrency are not evaluated.'],
  ['budget', 'Budgets are not evaluated: they may refuse or downgrade requests when they are sent.'],
  ['cache', 'Stored replies are not looked up: requests that the cache answered cost nothing.'],
])

/** Returns what an evaluation of the phase `decide` does not tell. */
export function listLimitations(
  plugins: readonly ListedPlugin[],
  { hasBudgets }: Pick<DraftEvents, 'hasBudgets'>,
): readonly Limitation[] {
  const limitations: Limitation[] = [...GENERAL]
  for (const { name, isBuiltIn, decides, actsElsewhere, hasState } of plugins) {
    const known = ACTING.get(name)
    const add = (message: string) => limitations.push({ code: 'plugin', message })
    if (isBuiltIn && known !== undefined) add(known)
    else if (name === 'guardrail-webhook') add('The external guardrail is not called.')
    else if (!isBuiltIn && decides && hasState)
      add(`Plugin "${name}" decides without its own events, which are not read.`)
    else if (!isBuiltIn && !decides && actsElsewhere)
      add(`Plugin "${name}" has no phase "decide", so what it does is not evaluated.`)
  }
  if (hasBudgets) limitations.push({ code: 'budgets', message: 'The budgets of the file are not evaluated.' })
  return limitations
}

/** See docs/decisions/what-if.md, "The catalogue's latencies are used". */
const GENERAL: readonly Limitation[] = [
  {
    code: 'automatic_choice',
    message:
      'Automatic choices use the latencies of the catalogue, and all models count as available: live ones ' +
      'follow measured latencies and open circuits.',
  },
  { code: 'response_rules', message: 'Rules with the scope response are not evaluated.' },
]
