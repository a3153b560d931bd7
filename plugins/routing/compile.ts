import type { Matcher, RoutingRule, RuleSet, Vocabulary } from '../../core/contract/index.ts'
import { literalSource, matchLiterals } from '../../core/text/literal.ts'
import { compilePatternSet } from '../../core/text/pattern-set.ts'

export interface CompiledRule {
  readonly rule: RoutingRule
  readonly matchers: readonly Matcher[]
}

/** A user's enabled routing rules, ready to run. */
export interface CompiledRouting {
  /** In evaluation order, the rules whose texts are found in these: only they need their other conditions looked at. */
  candidates(texts: () => readonly string[]): Promise<readonly CompiledRule[]>
}

/** Compiles the conditions once per rule change; all literals of all rules become one automaton. */
export async function compileRouting(
  { routing }: RuleSet,
  { conditions }: Vocabulary,
): Promise<CompiledRouting> {
  const lists: (readonly string[])[] = []
  const rules = routing
    .filter((rule) => rule.is_enabled)
    .map((rule) => {
      const matchers: Matcher[] = []
      /** Places in `lists` of what must all be found. */
      const searches: number[] = []
      for (const [name, value] of Object.entries(rule.match_json)) {
        const condition = conditions.get(name)
        // A condition whose plugin is gone cannot be judged: better the rule rests than that it matches everything.
        if (condition === undefined) matchers.push(() => false)
        else if ('matcher' in condition) matchers.push(condition.matcher(value))
        else searches.push(lists.push(condition.literals(value)) - 1)
      }
      return { rule, matchers, searches }
    })

  const find = await compileSearch(lists)
  const withoutSearch = rules.filter(({ searches }) => searches.length === 0)
  return {
    async candidates(texts) {
      if (lists.length === 0) return rules
      const found = await find(texts())
      if (found.size === 0) return withoutSearch
      return rules.filter(({ searches }) => searches.every((search) => found.has(search)))
    },
  }
}

/** Finds which lists of literals have a member in the texts; an empty list never has. */
async function compileSearch(
  lists: readonly (readonly string[])[],
): Promise<(texts: readonly string[]) => Promise<ReadonlySet<number>>> {
  const places = [...lists.keys()].filter((place) => lists[place]?.length)
  const listAt = (place: number) => lists[place] ?? []
  const set = await compilePatternSet(places.map((place) => literalSource(listAt(place))))
  return async (texts) => {
    const found = await set.find(texts)
    if (found === undefined) return new Set(places.filter((place) => isFound(listAt(place), texts)))
    return new Set([...found].map((index) => places[index] ?? -1))
  }
}

/** For when the automaton gave up: no rule is skipped for that. */
function isFound(literals: readonly string[], texts: readonly string[]): boolean {
  const regex = matchLiterals(literals)
  return texts.some((text) => regex.test(text))
}
