import type { FirewallRule, RuleOrigin, RuleSet, RuleTraceEntry, Warning } from '../../core/contract/index.ts'
import type { FoundPatterns } from '../../core/patterns/pattern-chunks.ts'
import type { PatternRun } from '../../core/patterns/pattern-run.ts'
import { compilePatternSet } from '../../core/patterns/pattern-set.ts'
import { type CompiledPattern, compilePattern, preparePatterns } from '../../core/patterns/patterns.ts'
import { withFolded } from '../../core/pcre/folded-text.ts'
import {
  literalReplacement,
  type PatternSource,
  parseReplacement,
  type Replacement,
  type SetPattern,
} from '../../core/pcre/pattern.ts'
import { isWholeLiteral } from '../../core/pcre/required-literal.ts'
import { mapInSlices } from '../../core/util/cooperative-yield.ts'
import { UnmatchedTexts } from './unmatched-texts.ts'

/** The firewall rules of a user or a policy of one scope, ready to evaluate. */
export interface CompiledFirewall {
  /** Whether the rules belong to a policy. */
  readonly isPolicy: boolean
  readonly hasMasks: boolean
  /** In evaluation order: the enabled rules of the scope whose pattern can be evaluated. */
  readonly rules: readonly CompiledFirewallRule[]
  /** The rules that were left out because their pattern cannot be evaluated. */
  readonly unusable: readonly FirewallRule[]
  /** Texts that no rule matches. */
  readonly unmatched: UnmatchedTexts
  /** Finds the rules that may match the texts. */
  findCandidates(texts: readonly string[], run: PatternRun): Candidates | Promise<Candidates>
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

export const DEFAULT_REPLACEMENT = '[redacted]'

/** Larger patterns are kept out of the pattern set, because they could slow it down for all others. */
const MAX_SET_POSITIONS = 300

/**
 * Compiles the firewall rules of one owner and scope in time slices. All small patterns are combined in a set
 * that finds the candidates.
 */
export async function compileFirewall(
  { firewall, ownerId, origin }: RuleSet,
  scope: FirewallRule['scope'] = 'prompt',
): Promise<CompiledFirewall> {
  const active = firewall.filter((rule) => rule.is_enabled && rule.scope === scope)
  await preparePatterns(active.map(patternSource), ownerId)
  const entries = await mapInSlices(active, (rule) => compileRule(rule, origin))
  const rules: CompiledFirewallRule[] = []
  const inSet: number[] = []
  const notInSet: number[] = []
  const setPatterns: SetPattern[] = []
  for (const entry of entries) {
    if (entry === undefined) continue
    const { compiled, setPattern } = entry
    const indexes = setPattern === undefined ? notInSet : inSet
    indexes.push(rules.push(compiled) - 1)
    if (setPattern !== undefined) setPatterns.push(setPattern)
  }
  const allIndexes = [...rules.keys()]
  const set = await compilePatternSet(setPatterns)
  const hasPresets = active.some(isPreset)

  function toCandidates(found: FoundPatterns): Candidates {
    // The automaton ran out of memory, or the texts are long. No rule may be skipped for that reason.
    if (found === undefined) return { indexes: allIndexes, isFromSet: false }
    if (found.length === 0) return { indexes: notInSet, isFromSet: true }
    const matched = found.map((position) => inSet[position] ?? -1)
    const indexes = notInSet.length === 0 ? matched : [...matched, ...notInSet].sort((a, b) => a - b)
    return { indexes, isFromSet: true }
  }

  return {
    isPolicy: origin !== undefined,
    hasMasks: rules.some(({ rule }) => rule.action === 'mask'),
    rules,
    unusable: active.filter((_, index) => entries[index] === undefined),
    unmatched: new UnmatchedTexts(),
    findCandidates(texts, run) {
      const searched = hasPresets ? withFolded(texts) : texts
      if (searched === undefined) return toCandidates(undefined)
      const found = set.find(searched, run)
      return found instanceof Promise ? found.then(toCandidates) : toCandidates(found)
    },
  }
}

export function isPreset({ type }: FirewallRule): boolean {
  return type === 'preset'
}

/** The pattern of a rule. */
export function patternSource({ type, pattern }: Pick<FirewallRule, 'type' | 'pattern'>): PatternSource {
  return { kind: type === 'substring' ? 'literal' : type, text: pattern }
}

/** Undefined if the pattern is not in the set. */
function toSetPattern(rule: FirewallRule, pattern: CompiledPattern): SetPattern | undefined {
  const { re2SetSource: source, compileCost, literal, positions } = pattern
  if (source === undefined || positions > MAX_SET_POSITIONS) return undefined
  if (literal === undefined) return { source, compileCost }
  const isLiteral = rule.type === 'substring' && isWholeLiteral(rule.pattern, literal)
  return { source, compileCost, literals: [literal], isLiteral }
}

/** Undefined if the pattern cannot be evaluated. */
function compileRule(
  rule: FirewallRule,
  origin: RuleOrigin | undefined,
): { compiled: CompiledFirewallRule; setPattern: SetPattern | undefined } | undefined {
  const replacement = rule.replacement ?? DEFAULT_REPLACEMENT
  const pattern = compilePattern(patternSource(rule))
  if ('error' in pattern) return undefined
  const setPattern = toSetPattern(rule, pattern)
  const compiled = {
    rule,
    pattern,
    replacement: toReplacement({ type: rule.type, replacement }),
    isExactInSet: setPattern !== undefined && pattern.engine === 're2',
    applied: toAppliedEntry(rule, origin),
    warning: firewallWarning(rule, origin, 'triggered'),
  }
  return { compiled, setPattern }
}

/** What a mask puts in place of a match. Only those of regular expressions refer to groups. */
export function toReplacement(rule: Pick<FirewallRule, 'type'> & { replacement: string }): Replacement {
  return rule.type === 'regex' ? parseReplacement(rule.replacement) : literalReplacement(rule.replacement)
}

function toAppliedEntry(
  { id, name, action, scope }: FirewallRule,
  origin: RuleOrigin | undefined,
): RuleTraceEntry {
  // Frozen, because all requests share it, and plugins see it.
  return Object.freeze({
    kind: 'firewall',
    rule_id: id,
    name,
    action,
    outcome: 'applied',
    ...(origin && { origin }),
    ...(scope !== 'prompt' && { scope }),
  })
}

/** Names a rule in messages, with its policy if it belongs to one. */
export function quoteRule(name: string, origin: RuleOrigin | undefined): string {
  return origin === undefined ? `"${name}"` : `"${name}" of policy "${origin.name}"`
}

/** A warning about a rule. */
export function firewallWarning(
  { name, scope }: FirewallRule,
  origin: RuleOrigin | undefined,
  text: string,
): Warning {
  const message = `Firewall rule ${quoteRule(name, origin)} ${text}.`
  const warning: Warning = { code: 'firewall', message }
  return scope === 'prompt' ? warning : { ...warning, scope }
}
