import type { FirewallRule, RuleSet, RuleTraceEntry, Warning } from '../../core/contract/index.ts'
import { type CompiledPattern, compileLiteral, compilePattern } from '../../core/pcre/compile.ts'
import type { Replacement } from '../../core/pcre/replacement.ts'
import { literalReplacement, parseReplacement } from '../../core/pcre/replacement.ts'

import { startRe2Worker } from '../../core/pcre/run-in-worker.ts'
import { compilePatternSet, type Found } from '../../core/text/pattern-set.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'

const DEFAULT_REPLACEMENT = '[redacted]'

/** A rule ready to run. */
export interface CompiledRule {
  readonly rule: FirewallRule
  readonly pattern: CompiledPattern
  readonly replacement: Replacement
  /** The automaton that all patterns are searched with says the same as the pattern itself. */
  readonly isCertain: boolean
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
  /** Those rules that may match the texts. */
  findCandidates(texts: readonly string[]): Candidates | Promise<Candidates>
}

/** Rules that may match some texts. */
export interface Candidates {
  /** Ascending. */
  readonly places: readonly number[]
  /** They were found by their patterns: what RE2 finds needs no second look. */
  readonly found: boolean
}

/** Patterns that spell out more than this are not put into the automaton: they could slow it down for all others. */
const MOST_POSITIONS = 300

/** Compiles a user's firewall, in time slices; all its patterns become one automaton that finds the candidates. */
export async function compileFirewall({ firewall }: RuleSet): Promise<CompiledFirewall> {
  const slice = createCooperativeYield()
  const rules: CompiledRule[] = []
  let unusable = 0
  for (const rule of firewall) {
    if (!rule.is_enabled || rule.scope !== 'prompt') continue
    const compiled = compileRule(rule)
    if (compiled === undefined) unusable += 1
    else rules.push(compiled)
    if (slice.isDue()) await slice.yieldNow()
  }

  // Only patterns that backtrack need it, and a thread is not cheap: most installations never start it.
  if (rules.some(({ pattern }) => pattern.engine !== 're2')) await startRe2Worker()

  const places = [...rules.keys()]
  const indexed = places.filter((place) => isIndexed(rules[place]?.pattern))
  const others = places.filter((place) => !isIndexed(rules[place]?.pattern))
  const set = await compilePatternSet(indexed.map((place) => rules[place]?.pattern.re2SetSource ?? ''))

  function candidatesOf(found: Found): Candidates {
    // The automaton gave up: each rule is looked at by itself, for none may be skipped.
    if (found === undefined) return { places, found: false }
    if (found.length === 0) return { places: others, found: true }
    const matched = found.map((index) => indexed[index] ?? -1)
    return {
      places: others.length === 0 ? matched : [...matched, ...others].sort((a, b) => a - b),
      found: true,
    }
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
    replacement: isLiteral ? literalReplacement(text) : parseReplacement(text),
    isCertain: isIndexed(pattern) && pattern.engine === 're2',
    applied: { kind: 'firewall', rule_id: rule.id, name: rule.name, action: rule.action, outcome: 'applied' },
    warning: { code: 'firewall', message: `Firewall rule "${rule.name}" triggered.` },
  }
}

function isIndexed(pattern: CompiledPattern | undefined): boolean {
  return pattern?.re2SetSource !== undefined && pattern.positions <= MOST_POSITIONS
}
