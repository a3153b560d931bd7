import type { ChatRequest, FirewallRule, RuleTraceEntry, Warning } from '../../core/contract/index.ts'
import { createPatternBudget, type PatternBudget } from '../../core/pcre/budget.ts'
import { requestTexts } from '../../core/text/request-texts.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import type { Candidates, CompiledFirewall, CompiledFirewallRule } from './compile.ts'
import { maskRequest } from './mask.ts'

export interface FirewallOutcome {
  /** The request after masking; the same object if nothing was masked. */
  readonly request: ChatRequest
  /** Why the request is refused; undefined if it is not. */
  readonly refusal: FirewallRefusal | undefined
  readonly warnings: readonly Warning[]
  readonly trace: readonly RuleTraceEntry[]
  /** The patterns that exceeded the time budget of the request, and so counted as no match. */
  readonly overruns: readonly string[]
}

export interface FirewallRefusal {
  readonly rule: FirewallRule
  /** `blocked`: the rule blocks. `not_maskable`: the rule masks, and a match cannot be replaced. */
  readonly reason: 'blocked' | 'not_maskable'
}

/**
 * Evaluates the rules in order (docs/api.md, "Firewall actions"). A mask changes the text that later rules
 * see; the first matching block ends the evaluation.
 */
export function evaluateFirewall(
  firewall: CompiledFirewall,
  request: ChatRequest,
  budget?: PatternBudget,
): MaybePromise<FirewallOutcome> {
  if (firewall.rules.length === 0) return unchangedOutcome(request)
  const texts = requestTexts(request)
  return chain(firewall.findCandidates(texts), (candidates) => {
    if (candidates.indexes.length === 0) return unchangedOutcome(request)
    if (candidates.isFromSet && candidates.indexes.every((index) => needsNoTest(firewall.rules[index])))
      return applyMatches(firewall, request, candidates.indexes)
    return evaluateEach(firewall, request, texts, candidates, budget ?? createPatternBudget())
  })
}

/** The outcome of most requests. */
function unchangedOutcome(request: ChatRequest): FirewallOutcome {
  return { request, refusal: undefined, warnings: [], trace: [], overruns: [] }
}

/** Whether a rule found by the pattern set applies without running its pattern. */
function needsNoTest(rule: CompiledFirewallRule | undefined): boolean {
  return rule?.isExactInSet === true && rule.rule.action !== 'mask'
}

function applyMatches(
  { rules }: CompiledFirewall,
  request: ChatRequest,
  indexes: readonly number[],
): FirewallOutcome {
  const warnings: Warning[] = []
  const trace: RuleTraceEntry[] = []
  for (const index of indexes) {
    const match = rules[index]
    if (match === undefined) continue
    trace.push(match.applied)
    if (match.rule.action === 'block')
      return { request, refusal: blockedBy(match.rule), warnings, trace, overruns: [] }
    warnings.push(match.warning)
  }
  return { request, refusal: undefined, warnings, trace, overruns: [] }
}

function blockedBy(rule: FirewallRule): FirewallRefusal {
  return { rule, reason: 'blocked' }
}

/** After this many searches of the pattern set, testing the remaining rules one by one is cheaper. */
const MAX_SET_SEARCHES = 16

async function evaluateEach(
  firewall: CompiledFirewall,
  originalRequest: ChatRequest,
  originalTexts: readonly string[],
  initialCandidates: Candidates,
  budget: PatternBudget,
): Promise<FirewallOutcome> {
  const warnings: Warning[] = []
  const trace: RuleTraceEntry[] = []
  let request = originalRequest
  let texts = originalTexts
  let { isFromSet } = initialCandidates
  let queue = [...initialCandidates.indexes]
  let searches = 1
  const outcome = (refusal?: FirewallRefusal): FirewallOutcome => {
    return { request, refusal, warnings, trace, overruns: budget.overruns }
  }
  const slice = createCooperativeYield()

  for (let index = queue.shift(); index !== undefined; index = queue.shift()) {
    const candidate = firewall.rules[index]
    if (candidate === undefined) continue
    const { rule, applied } = candidate
    const overrunsBefore = budget.overruns.length
    const exceededBudget = () => budget.overruns.length > overrunsBefore
    const skip = (reason: string) => trace.push({ ...applied, outcome: 'skipped', reason })

    const isMatch = (isFromSet && candidate.isExactInSet) || (await matchesAny(candidate, texts, budget))
    if (!isMatch) {
      if (exceededBudget()) skip('over_budget')
      continue
    }
    if (rule.action === 'mask') {
      const { request: masked, isIncomplete } = await maskTexts(candidate, request, budget)
      if (isIncomplete) {
        trace.push(applied)
        return outcome({ rule, reason: 'not_maskable' })
      }
      if (masked === request) {
        skip(exceededBudget() ? 'over_budget' : 'nothing_to_mask')
        continue
      }
      request = masked
      texts = requestTexts(request)
      searches += 1
      // The masked texts may match other rules than the original ones: search again for the rules that
      // follow.
      const found =
        searches > MAX_SET_SEARCHES ? allCandidates(firewall) : await firewall.findCandidates(texts)
      const maskIndex = index
      queue = found.indexes.filter((later) => later > maskIndex)
      isFromSet = found.isFromSet
    }
    trace.push(applied)
    if (rule.action === 'block') return outcome(blockedBy(rule))
    if (rule.action === 'warn') warnings.push(candidate.warning)
    if (slice.isDue()) await slice.yieldNow()
  }
  return outcome()
}

async function matchesAny(
  { pattern }: CompiledFirewallRule,
  texts: readonly string[],
  budget: PatternBudget,
): Promise<boolean> {
  for (const text of texts) {
    if (pattern.isQuick(text) ? pattern.test(text, budget) : await pattern.testAsync(text, budget))
      return true
  }
  return false
}

function maskTexts(
  { pattern, replacement }: CompiledFirewallRule,
  request: ChatRequest,
  budget: PatternBudget,
) {
  return maskRequest(request, {
    replace: async (text) =>
      pattern.isQuick(text, replacement)
        ? pattern.replace(text, replacement, budget)
        : pattern.replaceAsync(text, replacement, budget),
    matches: async (text) =>
      pattern.isQuick(text) ? pattern.test(text, budget) : pattern.testAsync(text, budget),
  })
}

function allCandidates({ rules }: CompiledFirewall): Candidates {
  return { indexes: [...rules.keys()], isFromSet: false }
}
