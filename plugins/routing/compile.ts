import type {
  Action,
  Matcher,
  OperatorRegistry,
  RoutingDraft,
  RoutingInput,
  RoutingRule,
  RuleSet,
  RuleTraceEntry,
} from '../../core/contract/index.ts'
import { buildLiteralSource, compileLiterals, compilePatternSet } from '../../core/text/pattern-set.ts'
import { userTexts } from '../../core/text/request-texts.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'

interface CompiledRule {
  readonly matchers: readonly Matcher[]
  /** In the order of the vocabulary, so that the trace of equal rules reads alike however their documents were written. */
  readonly actions: readonly CompiledAction[]
  /** What the trace says of actions that nobody knows. */
  readonly unknown: readonly RuleTraceEntry[]
}

interface CompiledAction {
  readonly action: Action
  readonly value: unknown
  /** What the trace says when the action applies, made once: most do. */
  readonly applied: RuleTraceEntry
}

/** A user's enabled routing rules, ready to run. */
interface CompiledRouting {
  /** In evaluation order, the rules whose texts are found in these: only they need their other conditions looked at. */
  candidates(texts: () => readonly string[]): MaybePromise<readonly CompiledRule[]>
}

/** Compiles the conditions once per rule change; all literals of all rules become one automaton. */
export async function compileRouting(
  { routing }: RuleSet,
  { conditions, actions }: OperatorRegistry,
): Promise<CompiledRouting> {
  const lists: (readonly string[])[] = []
  /** By the place in `lists`, the rule that it belongs to. */
  const owners: number[] = []
  const rules = routing
    .filter((rule) => rule.is_enabled)
    .map((rule, place) => {
      const matchers: Matcher[] = []
      /** Places in `lists` of what must all be found. */
      const searches: number[] = []
      for (const [name, value] of Object.entries(rule.match_json)) {
        const condition = conditions.get(name)
        // A condition whose plugin is gone cannot be judged: better the rule rests than that it matches everything.
        if (condition === undefined) matchers.push(() => false)
        else if ('matcher' in condition) matchers.push(condition.matcher(value))
        else {
          owners.push(place)
          searches.push(lists.push(condition.literals(value)) - 1)
        }
      }
      return { place, matchers, searches, ...compileActions(rule, actions) }
    })

  const find = await compileSearch(lists)
  const always = rules.filter(({ searches }) => searches.length === 0)

  /** Only the owners of what was found are looked at: most rules of a long list are not concerned. */
  function ownersOf(found: readonly number[]): readonly CompiledRule[] {
    if (found.length === 0) return always
    const concerned: (typeof always)[number][] = []
    let last: CompiledRule | undefined
    for (let at = 0; at < found.length; at++) {
      const owner = rules[owners[found[at] ?? -1] ?? -1]
      if (owner === undefined || owner === last) continue
      last = owner
      // A rule's lists stand side by side, and so do those that were found of them.
      if (owner.searches.every((wanted, offset) => found[at + offset] === wanted)) concerned.push(owner)
    }
    if (always.length === 0) return concerned
    return [...concerned, ...always].sort((left, right) => left.place - right.place)
  }

  return {
    candidates: (texts) => (lists.length === 0 ? rules : chain(find(texts()), ownersOf)),
  }
}

function compileActions(rule: RoutingRule, actions: ReadonlyMap<string, Action>) {
  const entry = (action: string) =>
    ({ kind: 'routing', rule_id: rule.id, name: rule.name, action, outcome: 'applied' }) as const
  const known = [...actions.values()].filter(({ name }) => rule.action_json[name] !== undefined)
  const unknown = Object.keys(rule.action_json).filter((name) => !actions.has(name))
  return {
    actions: known.map((action) => ({
      action,
      value: rule.action_json[action.name],
      applied: entry(action.name),
    })),
    unknown: unknown.map((name) => skipped(entry(name), 'unknown_action')),
  }
}

/** The entry of an action that did not apply after all. */
function skipped(entry: RuleTraceEntry, reason: string): RuleTraceEntry {
  return { ...entry, outcome: 'skipped', reason }
}

/** Finds which lists of literals have a member in the texts; an empty list never has. */
async function compileSearch(
  lists: readonly (readonly string[])[],
): Promise<(texts: readonly string[]) => MaybePromise<readonly number[]>> {
  const places = [...lists.keys()].filter((place) => lists[place]?.length)
  const listAt = (place: number) => lists[place] ?? []
  const set = await compilePatternSet(places.map((place) => buildLiteralSource(listAt(place))))
  return (texts) =>
    chain(set.find(texts), (found) => {
      if (found === undefined) return places.filter((place) => isFound(listAt(place), texts))
      return found.map((index) => places[index] ?? -1)
    })
}

/** For when the automaton gave up: no rule is skipped for that. */
function isFound(literals: readonly string[], texts: readonly string[]): boolean {
  const regex = compileLiterals(literals)
  return texts.some((text) => regex.test(text))
}

/** What the matching rules ask for together. */
export interface RuleDecision {
  readonly draft: RoutingDraft
  readonly trace: readonly RuleTraceEntry[]
}

/** Runs all rules: the first to set a thing wins, warnings add up (docs/api.md, "Evaluation order" 4). */
export function evaluateRouting(compiled: CompiledRouting, input: RoutingInput): MaybePromise<RuleDecision> {
  return chain(
    compiled.candidates(() => userTexts(input.request)),
    (candidates) => applyRules(candidates, input),
  )
}

function applyRules(candidates: readonly CompiledRule[], input: RoutingInput): RuleDecision {
  const draft: RoutingDraft = { request: input.request, warnings: [] }
  const trace: RuleTraceEntry[] = []
  const taken = new Set<string>()
  for (const candidate of candidates) {
    if (candidate.matchers.every((matches) => matches(input))) applyActions(candidate, draft, taken, trace)
  }
  return { draft, trace }
}

function applyActions(
  { actions, unknown }: CompiledRule,
  draft: RoutingDraft,
  taken: Set<string>,
  trace: RuleTraceEntry[],
): void {
  for (const { action, value, applied } of actions) {
    if (action.combine === 'first' && taken.has(action.name)) {
      trace.push(skipped(applied, 'already_set_by_rule'))
      continue
    }
    taken.add(action.name)
    action.apply(value, draft)
    trace.push(applied)
  }
  trace.push(...unknown)
}
