import type { FoundPatterns } from '../../core/patterns/pattern-chunks.ts'
import type { PatternRun } from '../../core/patterns/pattern-run.ts'
import { compilePatternSet } from '../../core/patterns/pattern-set.ts'
import { withFolded } from '../../core/pcre/folded-text.ts'
import type { SetPattern } from '../../core/pcre/pattern.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { type CompiledFirewallRule, isPreset } from './compile.ts'

/** Finds the rules that may match in a text or begin there, so that the others need not look at it. */
export interface BeginningSearch {
  /** Returns indexes of rules; undefined if every rule may match. */
  find(text: string, run: PatternRun): FoundRules | Promise<FoundRules>
}

type FoundRules = ReadonlySet<number> | undefined

/** Combines the beginnings of all rules in a set of patterns, in time slices. */
export async function createBeginningSearch(
  rules: readonly CompiledFirewallRule[],
): Promise<BeginningSearch> {
  const slice = createCooperativeYield()
  const searched: { readonly index: number; readonly beginning: SetPattern }[] = []
  const unsearched: number[] = []
  for (const [index, { pattern }] of rules.entries()) {
    const { beginning } = pattern
    if (beginning === undefined) unsearched.push(index)
    else searched.push({ index, beginning })
    if (slice.isDue()) await slice.yieldNow()
  }
  const set = await compilePatternSet(searched.map(({ beginning }) => beginning))
  const hasPresets = rules.some(({ rule }) => isPreset(rule))
  const always: ReadonlySet<number> = new Set(unsearched)

  function toRules(found: FoundPatterns): FoundRules {
    if (found === undefined) return undefined
    return found.length === 0
      ? always
      : new Set([...unsearched, ...found.map((position) => searched[position]?.index ?? -1)])
  }

  return {
    find(text, run) {
      if (text === '') return always
      const texts = hasPresets ? withFolded([text]) : [text]
      if (texts === undefined) return undefined
      const found = set.find(texts, run)
      return found instanceof Promise ? found.then(toRules) : toRules(found)
    },
  }
}
