import type {
  Action,
  Matcher,
  OperatorRegistry,
  RoutingRule,
  RuleOrigin,
  RuleSet,
  RuleTraceEntry,
} from '../../core/contract/index.ts'
import type { PatternRun } from '../../core/patterns/pattern-run.ts'
import { buildLiteralPattern, compileLiterals, compilePatternSet } from '../../core/patterns/pattern-set.ts'
import { toRe2Text } from '../../core/pcre/re2-matcher.ts'
import { mapInSlices } from '../../core/util/cooperative-yield.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'

/** The enabled routing rules of a user or a policy, ready to evaluate. */
export interface CompiledRouting {
  readonly isPolicy: boolean
  /**
   * Returns, in evaluation order, the rules whose literals occur in the texts and the rules without literals.
   * Only their other conditions need to be evaluated.
   */
  findCandidates(
    texts: () => readonly string[],
    run: () => PatternRun,
  ): MaybePromise<readonly CompiledRoutingRule[]>
}

export interface CompiledRoutingRule {
  /** Its place among the rules of its owner. */
  readonly index: number
  readonly id: number
  /** The conditions that are not literals. */
  readonly matchers: readonly Matcher[]
  /** In registry order, so that the order of keys in a document does not affect the trace. */
  readonly actions: readonly CompiledAction[]
  /** Trace entries of actions that are not registered. */
  readonly unknown: readonly RuleTraceEntry[]
}

interface CompiledAction {
  readonly action: Action
  readonly value: unknown
  /** What it chooses. Actions without `chooses` compete with nothing but themselves. */
  readonly choice: string
  /** The trace entry if the action applies. Built once, because most actions of matching rules apply. */
  readonly applied: RuleTraceEntry
  /** The same by arm. */
  readonly appliedArms: Map<string, RuleTraceEntry>
}

/** Compiles the conditions of one owner's rules. The literals of all rules become one automaton. */
export async function compileRouting(
  { routing, origin }: RuleSet,
  { conditions, actions }: OperatorRegistry,
): Promise<CompiledRouting> {
  const literalLists: (readonly string[])[] = []
  /** The index of the rule that each literal list belongs to. */
  const listOwners: number[] = []
  const enabled = routing.filter((rule) => rule.is_enabled)
  const rules = await mapInSlices(enabled, (rule, index) => {
    const matchers: Matcher[] = []
    /** Indexes of the rule's literal lists, which must all be found. They are consecutive. */
    const listIndexes: number[] = []
    for (const [name, value] of Object.entries(rule.match_json)) {
      const condition = conditions.get(name)
      // A condition whose plugin is no longer loaded never matches; ignoring it could match every request.
      if (condition === undefined) matchers.push(() => false)
      else {
        try {
          if ('matcher' in condition) matchers.push(condition.matcher(value))
          else {
            const literals = condition.literals(value)
            listOwners.push(index)
            listIndexes.push(literalLists.push(literals) - 1)
          }
        } catch (error) {
          // The other rules can be evaluated.
          matchers.push(() => {
            throw error
          })
        }
      }
    }
    return { index, matchers, listIndexes, ...compileActions(rule, origin, actions) }
  })

  const findLists = await compileSearch(literalLists)
  const withoutLiterals = rules.filter(({ listIndexes }) => listIndexes.length === 0)

  /**
   * Visits only the owners of the lists that were found (ascending): most rules of a long list are not
   * affected.
   */
  function candidatesOf(foundLists: readonly number[]): readonly CompiledRoutingRule[] {
    if (foundLists.length === 0) return withoutLiterals
    const candidates: (typeof rules)[number][] = []
    let previousOwner: CompiledRoutingRule | undefined
    for (let position = 0; position < foundLists.length; position++) {
      const owner = rules[listOwners[foundLists[position] ?? -1] ?? -1]
      if (owner === undefined || owner === previousOwner) continue
      previousOwner = owner
      // The lists of a rule are consecutive, so those of them that were found are, too.
      if (owner.listIndexes.every((index, offset) => foundLists[position + offset] === index))
        candidates.push(owner)
    }
    if (withoutLiterals.length === 0) return candidates
    return [...candidates, ...withoutLiterals].sort((a, b) => a.index - b.index)
  }

  return {
    isPolicy: origin !== undefined,
    findCandidates: (texts, run) =>
      literalLists.length === 0 ? rules : chain(findLists(texts(), run()), candidatesOf),
  }
}

function compileActions(
  { id, name, action_json }: RoutingRule,
  origin: RuleOrigin | undefined,
  actions: ReadonlyMap<string, Action>,
) {
  // Frozen, because all requests share it, and plugins see it.
  const appliedEntry = (action: string): RuleTraceEntry =>
    Object.freeze({
      kind: 'routing',
      rule_id: id,
      name,
      action,
      outcome: 'applied',
      ...(origin && { origin }),
    })
  const known = [...actions.values()].filter((action) => action_json[action.name] !== undefined)
  const unknown = Object.keys(action_json).filter((action) => !actions.has(action))
  return {
    id,
    actions: known.map((action) => ({
      action,
      value: action_json[action.name],
      choice: action.chooses ?? `action ${action.name}`,
      applied: appliedEntry(action.name),
      appliedArms: new Map<string, RuleTraceEntry>(),
    })),
    unknown: unknown.map((action) => skippedEntry(appliedEntry(action), 'unknown_action')),
  }
}

/** The trace entry of an action that applied what it chose. */
export function armEntry({ applied, appliedArms }: CompiledAction, arm: string): RuleTraceEntry {
  const known = appliedArms.get(arm)
  if (known !== undefined) return known
  const entry = Object.freeze({ ...applied, arm })
  appliedArms.set(arm, entry)
  return entry
}

/** The trace entry of an action that is skipped. */
export function skippedEntry(entry: RuleTraceEntry, reason: string): RuleTraceEntry {
  return { ...entry, outcome: 'skipped', reason }
}

/** Compiles a search for the lists that have a member in the texts. An empty list is never found. */
async function compileSearch(
  lists: readonly (readonly string[])[],
): Promise<(texts: readonly string[], run: PatternRun) => MaybePromise<readonly number[]>> {
  const nonEmpty = [...lists.keys()].filter((index) => lists[index]?.length)
  const listAt = (index: number) => lists[index] ?? []
  const set = await compilePatternSet(nonEmpty.map((index) => buildLiteralPattern(listAt(index))))
  return (texts, run) =>
    chain(set.find(texts, run), (found) => {
      if (found === undefined) return nonEmpty.filter((index) => hasLiteral(texts, listAt(index)))
      return found.map((position) => nonEmpty[position] ?? -1)
    })
}

/** The fallback if the automaton runs out of memory: a rule must never be skipped for that reason. */
function hasLiteral(texts: readonly string[], literals: readonly string[]): boolean {
  return literals.some((literal) => {
    const isIn = createLiteralTest(literal)
    return texts.some(isIn)
  })
}

function createLiteralTest(literal: string): (text: string) => boolean {
  try {
    const regex = compileLiterals([literal])
    return (text) => regex.test(toRe2Text(text))
  } catch {
    // Some texts are too long for RE2.
    const lowerCase = literal.toLowerCase()
    return (text) => text.toLowerCase().includes(lowerCase)
  }
}
