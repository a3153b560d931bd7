import type { ChatRequest, FirewallRule, RuleTraceEntry, Warning } from '../../core/contract/index.ts'
import type { PatternBudget } from '../../core/pcre/budget.ts'
import { createPatternBudget } from '../../core/pcre/budget.ts'

import { mapRequestTexts, requestTexts, stringValues } from '../../core/text/request-texts.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import type { Candidates, CompiledFirewall, CompiledRule } from './compile.ts'

/** What the firewall made of a request: refused by a rule, or let through, perhaps masked. */
export interface FirewallOutcome {
  /** As the provider may get it. */
  readonly request: ChatRequest
  readonly blockedBy: FirewallRule | undefined
  readonly warnings: readonly Warning[]
  readonly trace: readonly RuleTraceEntry[]
  /** Patterns that took longer than the request's budget and so counted as no match. */
  readonly overruns: readonly string[]
}

/** After so many masks the rules that are left are looked at one by one: searching again for each would cost more. */
const MOST_SEARCHES = 16

/**
 * Runs the rules one after the other (docs/api.md, "Firewall actions"): a mask changes the text that later rules see,
 * the first block that matches ends it.
 */
export function evaluateFirewall(
  firewall: CompiledFirewall,
  request: ChatRequest,
  budget?: PatternBudget,
): MaybePromise<FirewallOutcome> {
  if (firewall.rules.length === 0) return untouched(request)
  const texts = requestTexts(request)
  return chain(firewall.findCandidates(texts), (candidates) => {
    if (candidates.places.length === 0) return untouched(request)
    if (candidates.found && candidates.places.every((place) => needsNoLook(firewall.rules[place])))
      return applyFound(firewall, request, candidates.places)
    return evaluateEach(firewall, request, texts, candidates, budget ?? createPatternBudget())
  })
}

/** Whether nothing is left to do for a rule that was found but to do as it says. */
function needsNoLook(rule: CompiledRule | undefined): boolean {
  return rule?.isCertain === true && rule.rule.action !== 'mask'
}

function applyFound(
  { rules }: CompiledFirewall,
  request: ChatRequest,
  places: readonly number[],
): FirewallOutcome {
  const warnings: Warning[] = []
  const trace: RuleTraceEntry[] = []
  for (const place of places) {
    const found = rules[place]
    if (found === undefined) continue
    trace.push(found.applied)
    if (found.rule.action === 'block')
      return { request, blockedBy: found.rule, warnings, trace, overruns: [] }
    warnings.push(found.warning)
  }
  return { request, blockedBy: undefined, warnings, trace, overruns: [] }
}

async function evaluateEach(
  firewall: CompiledFirewall,
  request: ChatRequest,
  textsOfRequest: readonly string[],
  found: Candidates,
  budget: PatternBudget,
): Promise<FirewallOutcome> {
  let current = request
  let texts = textsOfRequest
  let candidates = found
  const warnings: Warning[] = []
  const trace: RuleTraceEntry[] = []
  const outcome = (blockedBy?: FirewallRule): FirewallOutcome => {
    return { request: current, blockedBy, warnings, trace, overruns: budget.overruns }
  }
  const slice = createCooperativeYield()
  let searches = 1

  for (let index = 0; index < candidates.places.length; index++) {
    const place = candidates.places[index] ?? 0
    const candidate = firewall.rules[place]
    if (candidate === undefined) continue
    const { rule, applied } = candidate
    const overruns = budget.overruns.length
    const ranOver = () => budget.overruns.length > overruns
    const skip = (reason: string) => trace.push({ ...applied, outcome: 'skipped', reason })

    const isCertain = candidates.found && candidate.isCertain
    if (!isCertain && !(await isFound(candidate, texts, budget))) {
      if (ranOver()) skip('over_budget')
      continue
    }
    if (rule.action === 'mask') {
      const masked = await maskTexts(candidate, current, budget)
      if (masked === current) {
        skip(ranOver() ? 'over_budget' : 'nothing_to_mask')
        continue
      }
      current = masked
      texts = requestTexts(current)
      const later = ++searches > MOST_SEARCHES ? everyRule(firewall) : await firewall.findCandidates(texts)
      candidates = { ...later, places: later.places.filter((other) => other > place) }
      index = -1
    }
    trace.push(applied)
    if (rule.action === 'block') return outcome(rule)
    if (rule.action === 'warn') warnings.push(candidate.warning)
    if (slice.isDue()) await slice.yieldNow()
  }
  return outcome()
}

/** What becomes of most requests. */
function untouched(request: ChatRequest): FirewallOutcome {
  return { request, blockedBy: undefined, warnings: [], trace: [], overruns: [] }
}

async function isFound(
  { pattern }: CompiledRule,
  texts: readonly string[],
  budget: PatternBudget,
): Promise<boolean> {
  for (const text of texts) {
    if (pattern.isQuick(text) ? pattern.test(text, budget) : await pattern.testAsync(text, budget))
      return true
  }
  return false
}

/** The request with every match in its texts replaced; the same object when nothing was. */
async function maskTexts(
  { pattern, replacement }: CompiledRule,
  request: ChatRequest,
  budget: PatternBudget,
): Promise<ChatRequest> {
  const done = new Map<string, string>()
  for (const text of stringValues(request)) {
    if (!pattern.isQuick(text, replacement))
      done.set(text, await pattern.replaceAsync(text, replacement, budget))
  }
  return mapRequestTexts(request, (text) => done.get(text) ?? pattern.replace(text, replacement, budget))
}

function everyRule({ rules }: CompiledFirewall): Candidates {
  return { places: [...rules.keys()], found: false }
}
