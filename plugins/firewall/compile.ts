import type { FirewallRule, RuleSet, RuleTraceEntry, Warning } from '../../core/contract/index.ts'
import { compilePatternSet, type Found } from '../../core/text/pattern-set.ts'
import { createTimeSlice } from '../../core/time-slice.ts'
import { compileLiteral, compilePattern, type Pattern } from './pattern/compile.ts'
import { literalReplacement, type Replacement, readReplacement } from './pattern/replacement.ts'

export const DEFAULT_REPLACEMENT = '[redacted]'

/** A rule ready to run. */
export interface CompiledRule {
  readonly rule: FirewallRule
  readonly pattern: Pattern
  readonly replacement: Replacement
  /** What the trace says when the rule applies, made once: most rules that match do. */
  readonly applied: RuleTraceEntry
  /** What the caller hears of a rule that warns. */
  readonly warning: Warning
}

/** A user's firewall, ready to run. */
export interface CompiledFirewall {
  /** In evaluation order: the enabled rules of scope `prompt` whose pattern can be evaluated. */
  readonly rules: readonly CompiledRule[]
  /** How many others are left out because their pattern cannot be evaluated. */
  readonly unusable: number
  /** The places of the rules that may match the texts, ascending. Those of `certain` do match. */
  findCandidates(texts: readonly string[]): Candidates | Promise<Candidates>
}

export interface Candidates {
  readonly places: readonly number[]
  readonly certain: ReadonlySet<number>
}

/** Patterns that spell out more than this are not put into the automaton: they could slow it down for all others. */
const MOST_POSITIONS = 300

/** Compiles a user's firewall, in time slices; all its patterns become one automaton that finds the candidates. */
export async function compileFirewall({ firewall }: RuleSet): Promise<CompiledFirewall> {
  const slice = createTimeSlice()
  const rules: CompiledRule[] = []
  let unusable = 0
  for (const rule of firewall) {
    if (!rule.is_enabled || rule.scope !== 'prompt') continue
    const compiled = compileRule(rule)
    if (compiled === undefined) unusable += 1
    else rules.push(compiled)
    if (slice.isOver()) await slice.pause()
  }

  const places = [...rules.keys()]
  const indexed = places.filter((place) => isIndexed(rules[place]?.pattern))
  const others = places.filter((place) => !isIndexed(rules[place]?.pattern))
  const noMatch: Candidates = { places: others, certain: new Set() }
  const set = await compilePatternSet(indexed.map((place) => rules[place]?.pattern.automaton ?? ''))

  function candidatesOf(found: Found): Candidates {
    // The automaton gave up: each rule is looked at by itself, for none may be skipped.
    if (found === undefined) return { places, certain: new Set() }
    if (found.size === 0) return noMatch
    const matched = [...found].map((index) => indexed[index] ?? -1)
    const certain = matched.filter((place) => rules[place]?.pattern.engine === 're2')
    return { places: [...matched, ...others].sort((a, b) => a - b), certain: new Set(certain) }
  }

  return {
    rules,
    unusable,
    findCandidates(texts) {
      const found = set.find(texts)
      return found instanceof Promise ? found.then(candidatesOf) : candidatesOf(found)
    },
  }
}

function compileRule(rule: FirewallRule): CompiledRule | undefined {
  const text = rule.replacement ?? DEFAULT_REPLACEMENT
  const isLiteral = rule.type === 'substring'
  const pattern = isLiteral ? compileLiteral(rule.pattern) : compilePattern(rule.pattern)
  if ('error' in pattern) return undefined
  return {
    rule,
    pattern,
    replacement: isLiteral ? literalReplacement(text) : readReplacement(text),
    applied: { kind: 'firewall', rule_id: rule.id, name: rule.name, action: rule.action, outcome: 'applied' },
    warning: { code: 'firewall', message: `Firewall rule "${rule.name}" triggered.` },
  }
}

function isIndexed(pattern: Pattern | undefined): boolean {
  return pattern?.automaton !== undefined && pattern.positions <= MOST_POSITIONS
}
