import type { FirewallRule, RuleSet, RuleTraceEntry, Warning } from '../../core/contract/index.ts'
import { type CompiledPattern, compileLiteral, compilePattern } from '../../core/pcre/compile.ts'
import { literalReplacement, parseReplacement, type Replacement } from '../../core/pcre/replacement.ts'
import { startRe2Worker } from '../../core/pcre/run-in-worker.ts'
import { compilePatternSet, type FoundPatterns } from '../../core/text/pattern-set.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'

/** A user's firewall, ready to evaluate. */
export interface CompiledFirewall {
  /** In evaluation order: the enabled rules with scope `prompt` whose pattern can be evaluated. */
  readonly rules: readonly CompiledFirewallRule[]
  /** The number of rules left out because their pattern cannot be evaluated. */
  readonly unusableCount: number
  /** Finds the rules that may match the texts. */
  findCandidates(texts: readonly string[]): Candidates | Promise<Candidates>
}

export interface CompiledFirewallRule {
  readonly rule: FirewallRule
  readonly pattern: CompiledPattern
  readonly replacement: Replacement
  /** Whether a match in the pattern set proves that the pattern matches. */
  readonly isExactInSet: boolean
  /** The trace entry if the rule applies. Built once, because most rules that match apply. */
  readonly applied: RuleTraceEntry
  /** The warning of a rule with the action `warn`. */
  readonly warning: Warning
}

/** Rules that may match some texts. */
export interface Candidates {
  /** Indexes into the rules, ascending. */
  readonly indexes: readonly number[]
  /** Whether the pattern set was searched. Otherwise every rule is a candidate and has to be tested. */
  readonly isFromSet: boolean
}

const DEFAULT_REPLACEMENT = '[redacted]'

/** Larger patterns are kept out of the pattern set, because they could slow it down for all others. */
const MAX_SET_POSITIONS = 300

/**
 * Compiles a user's firewall in time slices. All small patterns are combined in a set that finds the
 * candidates.
 */
export async function compileFirewall({ firewall }: RuleSet): Promise<CompiledFirewall> {
  const slice = createCooperativeYield()
  const rules: CompiledFirewallRule[] = []
  let unusableCount = 0
  for (const rule of firewall) {
    if (!rule.is_enabled || rule.scope !== 'prompt') continue
    const compiled = compileRule(rule)
    if (compiled === undefined) unusableCount += 1
    else rules.push(compiled)
    if (slice.isDue()) await slice.yieldNow()
  }

  // Only backtracking patterns use the worker. A thread is expensive, and most installations never need it.
  if (rules.some(({ pattern }) => pattern.engine !== 're2')) await startRe2Worker()

  const allIndexes = [...rules.keys()]
  const inSet = allIndexes.filter((index) => isInSet(rules[index]?.pattern))
  const notInSet = allIndexes.filter((index) => !isInSet(rules[index]?.pattern))
  const set = await compilePatternSet(inSet.map((index) => rules[index]?.pattern.re2SetSource ?? ''))

  function toCandidates(found: FoundPatterns): Candidates {
    // The automaton ran out of memory. No rule may be skipped for that reason.
    if (found === undefined) return { indexes: allIndexes, isFromSet: false }
    if (found.length === 0) return { indexes: notInSet, isFromSet: true }
    const matched = found.map((position) => inSet[position] ?? -1)
    const indexes = notInSet.length === 0 ? matched : [...matched, ...notInSet].sort((a, b) => a - b)
    return { indexes, isFromSet: true }
  }

  return {
    rules,
    unusableCount,
    findCandidates(texts) {
      const found = set.find(texts)
      return found instanceof Promise ? found.then(toCandidates) : toCandidates(found)
    },
  }
}

/** Undefined if the pattern cannot be evaluated. */
function compileRule(rule: FirewallRule): CompiledFirewallRule | undefined {
  const replacement = rule.replacement ?? DEFAULT_REPLACEMENT
  const isLiteral = rule.type === 'substring'
  const pattern = isLiteral ? compileLiteral(rule.pattern) : compilePattern(rule.pattern)
  if ('error' in pattern) return undefined
  return {
    rule,
    pattern,
    replacement: isLiteral ? literalReplacement(replacement) : parseReplacement(replacement),
    isExactInSet: isInSet(pattern) && pattern.engine === 're2',
    applied: { kind: 'firewall', rule_id: rule.id, name: rule.name, action: rule.action, outcome: 'applied' },
    warning: { code: 'firewall', message: `Firewall rule "${rule.name}" triggered.` },
  }
}

function isInSet(pattern: CompiledPattern | undefined): boolean {
  return pattern?.re2SetSource !== undefined && pattern.positions <= MAX_SET_POSITIONS
}
