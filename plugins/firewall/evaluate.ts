import type { ChatRequest, FirewallRule, RuleTraceEntry, Warning } from '../../core/contract/index.ts'
import { hasDocuments, hasTokenIds, requestTexts } from '../../core/inspection/request-texts.ts'
import { PatternLimitError, type PatternRun } from '../../core/patterns/pattern-run.ts'
import { hasGroups, literalReplacement } from '../../core/pcre/pattern.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import {
  type Candidates,
  type CompiledFirewall,
  type CompiledFirewallRule,
  firewallWarning,
} from './compile.ts'
import { maskAgain, maskRequest, WrittenTexts } from './mask.ts'
import { type FirewallRefusal, refuseBy } from './refusal.ts'

export interface FirewallOutcome {
  /** The request after masking; the same object if nothing was masked. */
  readonly request: ChatRequest
  /** Why the request is refused; undefined if it is not. */
  readonly refusal: FirewallRefusal | undefined
  readonly warnings: readonly Warning[]
  readonly trace: readonly RuleTraceEntry[]
  /** The rules whose pattern did not finish within the limits of the request. */
  readonly unfinished: readonly FirewallRule[]
  /** The last rule that masked something. */
  readonly masking?: CompiledFirewallRule | undefined
  /** What masks wrote whose replacement refers to groups. */
  readonly written?: WrittenByRules
  /** All texts of the request, if masks have changed it and they were collected. */
  readonly texts?: readonly string[] | undefined
}

/** A request with all texts of it that rules inspect. */
export interface RequestTexts {
  readonly request: ChatRequest
  readonly texts: readonly string[]
}

/** What rules know of a request that they have evaluated before, and that has changed since. */
export interface EarlierLook {
  /** The texts of the request. */
  readonly texts: readonly string[]
  /** Texts of which the rules know the result. */
  readonly known: ReadonlySet<string>
  /** What masks whose replacement refers to groups wrote: they are not applied to it once more. */
  readonly written: WrittenByRules
}

/** By rule. Grows with every look. */
export type WrittenByRules = Map<CompiledFirewallRule, WrittenTexts>

export interface EvaluationOptions {
  /** Creates the limits of the patterns for a request with this many characters. */
  createRun(textLength: number): PatternRun
  /** Whether a request is refused if the pattern of a blocking or masking rule does not finish. */
  readonly onTimeout: 'refuse' | 'allow'
  /** The texts of a request that several rule sets inspect, so that they are collected once. */
  readonly shared?: { request?: ChatRequest; texts?: readonly string[] } | undefined
  /** Only rules that mask are evaluated. */
  readonly onlyMasks?: boolean
  /** Set if the rules look at the request again. */
  readonly earlier?: EarlierLook
}

/**
 * Evaluates the rules in order (docs/api.md, "Firewall actions"). A mask changes the text that later rules
 * see; the first matching block ends the evaluation.
 */
export function evaluateFirewall(
  firewall: CompiledFirewall,
  request: ChatRequest,
  options: EvaluationOptions,
): MaybePromise<FirewallOutcome> {
  if (firewall.rules.length === 0) return unchangedOutcome(request)
  if (hasTokenIds(request)) return refuseTokenIds(firewall, request)
  const { unmatched } = firewall
  return chain(collectTexts(firewall, request, options), (texts) => {
    let length = 0
    for (const text of texts) length += text.length
    const run = options.createRun(length)
    return chain(findCandidates(firewall, texts, run), (candidates) => {
      if (candidates.indexes.length === 0) {
        unmatched.add(texts)
        return unchangedOutcome(request)
      }
      const needNoTest = candidates.indexes.every((index) => needsNoTest(firewall.rules[index]))
      if (candidates.isFromSet && needNoTest && options.onlyMasks !== true)
        return applyMatches(firewall, request, candidates.indexes)
      return new FirewallEvaluation(firewall, request, texts, run, options).evaluate(candidates)
    })
  })
}

/** Texts that a firewall is known not to match are left out, so another one cannot use the same list. */
function collectTexts(
  { unmatched }: CompiledFirewall,
  request: ChatRequest,
  { shared, earlier }: EvaluationOptions,
): MaybePromise<readonly string[]> {
  if (earlier !== undefined)
    return earlier.texts.filter((text) => !earlier.known.has(text) && !unmatched.has(text))
  if (shared === undefined || !unmatched.isEmpty) return requestTexts(request, unmatched.has)
  if (shared.request === request && shared.texts !== undefined) return shared.texts
  return chain(requestTexts(request), (texts): MaybePromise<readonly string[]> => {
    shared.request = request
    shared.texts = texts
    return texts
  })
}

/** The warning for a rule that was ignored because its pattern did not finish. */
export function unfinishedWarning({ rule, applied }: CompiledFirewallRule): Warning {
  return firewallWarning(rule, applied.origin, 'was not evaluated: its pattern exceeded the time limit')
}

/** The outcome of most requests. */
function unchangedOutcome(request: ChatRequest): FirewallOutcome {
  return { request, refusal: undefined, warnings: [], trace: [], unfinished: [] }
}

/**
 * A rule that would block or mask cannot be evaluated without texts, so it refuses the request. See
 * docs/decisions/firewall.md, "Token ids are refused where a rule would block or mask".
 */
function refuseTokenIds({ rules }: CompiledFirewall, request: ChatRequest): FirewallOutcome {
  const trace = rules.map(({ applied }) => {
    return { ...applied, outcome: 'skipped' as const, reason: 'token_ids' }
  })
  const guard = rules.find(({ rule }) => rule.action !== 'warn')
  const refusal = guard && refuseBy(guard, 'token_ids')
  const warnings = refusal
    ? []
    : rules.map(({ rule, applied }) =>
        firewallWarning(rule, applied.origin, 'was not evaluated: token ids cannot be inspected'),
      )
  return { request, refusal, warnings, trace, unfinished: [] }
}

/** Searching a longer text for candidates takes longer than testing a single rule. */
const MAX_SEARCHED_LENGTH = 250_000

/** If the search does not finish, every rule is tested by itself, and fails closed if it does not finish. */
function findCandidates(
  firewall: CompiledFirewall,
  texts: readonly string[],
  run: PatternRun,
): MaybePromise<Candidates> {
  if (firewall.rules.length === 1 && texts.some(({ length }) => length > MAX_SEARCHED_LENGTH))
    return allCandidates(firewall)
  const candidates = firewall.findCandidates(texts, run)
  if (!(candidates instanceof Promise)) return candidates
  return candidates.catch((error: unknown) => {
    if (error instanceof PatternLimitError) return allCandidates(firewall)
    throw error
  })
}

function allCandidates({ rules }: CompiledFirewall): Candidates {
  return { indexes: [...rules.keys()], isFromSet: false }
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
    if (match.rule.action === 'block') {
      return { request, refusal: refuseBy(match, 'blocked'), warnings, trace, unfinished: [] }
    }
    warnings.push(match.warning)
  }
  return { request, refusal: undefined, warnings, trace, unfinished: [] }
}

const ERASURE = literalReplacement('\u{fffc}')

/** After this many searches of the pattern set, testing the remaining rules one by one is cheaper. */
const MAX_SET_SEARCHES = 16

/** Evaluates the candidates of one request one by one. */
class FirewallEvaluation {
  private readonly warnings: Warning[] = []
  private readonly trace: RuleTraceEntry[] = []
  private readonly unfinished: FirewallRule[] = []
  private readonly slice = createCooperativeYield()
  private readonly firewall: CompiledFirewall
  private readonly run: PatternRun
  private readonly onTimeout: EvaluationOptions['onTimeout']
  private readonly earlier: EarlierLook | undefined
  private readonly onlyMasks: boolean
  private readonly written: WrittenByRules
  private masking: CompiledFirewallRule | undefined
  private request: ChatRequest
  private texts: readonly string[]
  private searches = 1

  constructor(
    firewall: CompiledFirewall,
    request: ChatRequest,
    texts: readonly string[],
    run: PatternRun,
    { onTimeout, earlier, onlyMasks = false }: EvaluationOptions,
  ) {
    this.firewall = firewall
    this.request = request
    this.texts = texts
    this.run = run
    this.onTimeout = onTimeout
    this.earlier = earlier
    this.written = earlier?.written ?? new Map()
    this.onlyMasks = onlyMasks
  }

  async evaluate(initial: Candidates): Promise<FirewallOutcome> {
    let { isFromSet } = initial
    let queue = [...initial.indexes]
    for (let index = queue.shift(); index !== undefined; index = queue.shift()) {
      const candidate = this.firewall.rules[index]
      if (candidate === undefined || (this.onlyMasks && candidate.rule.action !== 'mask')) continue
      const before = this.request
      const refusal = await this.applyWithinLimit(candidate, isFromSet && candidate.isExactInSet)
      if (refusal !== undefined) return this.outcome(refusal)
      if (this.request !== before) {
        const next = index + 1
        if (next === this.firewall.rules.length) break
        const found = await this.searchAgain()
        queue = found.indexes.filter((later) => later >= next)
        isFromSet = found.isFromSet
      }
      await this.yieldIfDue()
    }
    return this.outcome(undefined)
  }

  private outcome(refusal: FirewallRefusal | undefined): FirewallOutcome {
    const { request, warnings, trace, unfinished, masking, written } = this
    const isWhole = masking !== undefined && this.earlier === undefined
    const texts = isWhole ? this.texts : undefined
    return {
      request,
      refusal,
      warnings,
      trace,
      unfinished,
      masking,
      texts,
      ...(written.size > 0 && { written }),
    }
  }

  /** A rule whose pattern does not finish refuses the request, or only warns if it would only warn. */
  private async applyWithinLimit(
    candidate: CompiledFirewallRule,
    isMatch: boolean,
  ): Promise<FirewallRefusal | undefined> {
    try {
      return await this.apply(candidate, isMatch)
    } catch (error) {
      if (!(error instanceof PatternLimitError)) throw error
      const { rule } = candidate
      this.unfinished.push(rule)
      this.skip(candidate, 'time_limit')
      if (rule.action !== 'warn' && this.onTimeout === 'refuse') return refuseBy(candidate, 'unfinished')
      this.warnings.push(unfinishedWarning(candidate))
      return undefined
    }
  }

  /** `isMatch`: the rule is known to match. */
  private async apply(
    candidate: CompiledFirewallRule,
    isMatch: boolean,
  ): Promise<FirewallRefusal | undefined> {
    const { rule } = candidate
    // Replacing finds the same matches as a test, except in documents of several values.
    if (rule.action === 'mask' && !isMatch && !hasDocuments(this.request)) return this.mask(candidate, false)
    if (!isMatch && !(await candidate.pattern.testAny(this.texts, this.run))) return undefined
    if (rule.action === 'mask') return this.mask(candidate, true)
    this.trace.push(candidate.applied)
    if (rule.action === 'block') return refuseBy(candidate, 'blocked')
    this.warnings.push(candidate.warning)
    return undefined
  }

  private async mask(
    candidate: CompiledFirewallRule,
    isMatch: boolean,
  ): Promise<FirewallRefusal | undefined> {
    const { pattern, applied } = candidate
    const { request, isIncomplete } = await maskRequest(this.request, {
      replace: (text) => this.replace(candidate, text),
      matches: (text) => pattern.test(text, this.run),
      erase: (text) => pattern.replace(text, ERASURE, this.run),
      mayMatchAny: pattern.mayMatchAny,
      pause: () => this.yieldIfDue(),
    })
    if (!isIncomplete && request === this.request) {
      if (isMatch && this.earlier === undefined) this.skip(candidate, 'nothing_to_mask')
      return undefined
    }
    this.trace.push(applied)
    if (isIncomplete) return refuseBy(candidate, 'not_maskable')
    this.request = request
    this.masking = candidate
    this.texts = await requestTexts(request, this.isKnown)
    return undefined
  }

  private readonly isKnown = (text: string) => this.earlier?.known.has(text) === true

  private replace(rule: CompiledFirewallRule, text: string): MaybePromise<string> {
    if (this.isKnown(text)) return text
    const { pattern, replacement } = rule
    if (this.earlier !== undefined) return maskAgain(rule, text, this.run, this.writtenBy(rule))
    return chain(pattern.replace(text, replacement, this.run), (result): MaybePromise<string> => {
      if (result !== text) this.writtenBy(rule)?.add(text, result)
      return result
    })
  }

  private writtenBy(rule: CompiledFirewallRule): WrittenTexts | undefined {
    if (!hasGroups(rule.replacement)) return undefined
    const written = this.written.get(rule) ?? new WrittenTexts(rule)
    this.written.set(rule, written)
    return written
  }

  /** The masked texts may match other rules than the original ones. */
  private searchAgain(): MaybePromise<Candidates> {
    this.searches += 1
    if (this.searches > MAX_SET_SEARCHES) return allCandidates(this.firewall)
    return findCandidates(this.firewall, this.texts, this.run)
  }

  private skip({ applied }: CompiledFirewallRule, reason: string): void {
    this.trace.push({ ...applied, outcome: 'skipped', reason })
  }

  private async yieldIfDue(): Promise<void> {
    if (this.slice.isDue()) await this.slice.yieldNow()
  }
}
