import type { JsonObject, RuleOrigin } from '../../core/contract/index.ts'
import { NO_CLIENT } from '../../core/pipeline/decide-again.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { digestOfArguments } from '../../core/util/tool-arguments.ts'
import { showDraftId, showSimulatedError } from '../audit/index.ts'
import type { ToolFirewall } from '../firewall/index.ts'
import type { RequestFilter, StoredToolCall, ToolCallFilter, ToolCallQuery } from '../ledger/index.ts'
import { CALL_VERDICTS, type CallDecision, decideCall, isRecordedAs, parseRuledName } from '../mcp/index.ts'
import type { ToolRules } from '../tool-rules/index.ts'
import { ruleKey } from './decision.ts'
import type { CurrentCaller, WhatIfJob } from './job.ts'
import { DraftedRules, type RuleVersion, type RuleVersions } from './rule-versions.ts'
import { TOOL_EFFECTS, type ToolCallsReport, type ToolEffect } from './tool-call-schemas.ts'

/** What decides about calls by one version of the rules. */
interface ToolDecider {
  readonly rules: ToolRules | undefined
  readonly firewall: ToolFirewall | undefined
}

interface ToolEvaluationServices {
  readonly ledger: { listToolCalls(query: ToolCallQuery): Promise<readonly StoredToolCall[]> }
  readonly before: ToolDecider
  readonly after: ToolDecider
  /** Returns users who exist. */
  callersOf(userIds: readonly number[]): Promise<readonly CurrentCaller[]>
  isCancelled(): boolean
}

/** Calls that are read at once. */
const PAGE_SIZE = 250

/** Decides about recorded calls of tools with the rules of today and with the drafts. */
export async function evaluateToolCalls(
  job: WhatIfJob,
  services: ToolEvaluationServices,
): Promise<ToolCallsReport> {
  const tally = new ToolCallTally(job.examples)
  const filter = toToolCallFilter(job.filter)
  if (filter === undefined) return tally.report(false)
  const evaluation = new ToolEvaluation(job, services, tally)
  let left = job.limit
  for (let before: number | undefined; left > 0 && !services.isCancelled(); ) {
    const limit = Math.min(PAGE_SIZE, left)
    const start = before === undefined ? {} : { before }
    const calls = await services.ledger.listToolCalls({ filter, limit, ...start, withArguments: true })
    await evaluation.evaluate(calls)
    left -= calls.length
    before = calls.at(-1)?.number
    if (calls.length < limit || before === undefined) return tally.report(false)
    if (left === 0) {
      const older = await services.ledger.listToolCalls({ filter, limit: 1, before })
      return tally.report(older.length > 0)
    }
  }
  return tally.report(true)
}

/** Undefined for filters of what calls of tools do not have, such as a model. */
function toToolCallFilter({
  userId,
  groupId,
  since,
  until,
  ...rest
}: RequestFilter): ToolCallFilter | undefined {
  if (Object.values(rest).some((value) => value !== undefined)) return undefined
  return {
    ...(userId !== undefined && { userId }),
    ...(groupId !== undefined && { anyGroup: [groupId] }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  }
}

class ToolEvaluation {
  readonly #job: WhatIfJob
  readonly #services: ToolEvaluationServices
  readonly #tally: ToolCallTally
  readonly #rules: DraftedRules
  readonly #callers = new Map<number, { caller: CurrentCaller; versions: RuleVersions } | undefined>()
  readonly #slice = createCooperativeYield(20)

  constructor(job: WhatIfJob, services: ToolEvaluationServices, tally: ToolCallTally) {
    this.#job = job
    this.#services = services
    this.#tally = tally
    this.#rules = new DraftedRules(job)
  }

  async evaluate(calls: readonly StoredToolCall[]): Promise<void> {
    const missing = new Set(calls.map(({ userId }) => userId).filter((id) => !this.#callers.has(id)))
    for (const id of missing) this.#callers.set(id, undefined)
    for (const caller of missing.size === 0 ? [] : await this.#services.callersOf([...missing]))
      this.#callers.set(caller.userId, { caller, versions: this.#rules.versionsFor(caller) })
    for (const call of calls) {
      if (this.#services.isCancelled()) return
      await this.#evaluateCall(call)
      if (this.#slice.isDue()) await this.#slice.yieldNow()
    }
  }

  async #evaluateCall(call: StoredToolCall): Promise<void> {
    const known = this.#callers.get(call.userId)
    if (known === undefined) return this.#tally.skip('user_deleted')
    const byDefault = this.#job.toolServers[call.server]
    if (byDefault === undefined) return this.#tally.skip('server_removed')
    if (call.argumentsText === undefined) return this.#tally.skip('not_recorded')
    const { caller, versions } = known
    const { before, after } = this.#services
    const decide = (decider: ToolDecider, version: RuleVersion) =>
      decideRecordedCall(decider, call, call.argumentsText ?? '{}', caller, version, byDefault)
    const decided = await decide(before, versions.before)
    const drafted = versions.after === versions.before ? decided : await decide(after, versions.after)
    this.#tally.add(call, decided, drafted, caller)
  }
}

/** The definition counts as approved if it was then. */
function decideRecordedCall(
  decider: ToolDecider,
  { server, tool, revision = 1, verdict, read, keyId }: StoredToolCall,
  argumentsText: string,
  { userId, name: userName, plan, position }: CurrentCaller,
  { policies, rules }: RuleVersion,
  byDefault: 'allow' | 'deny',
): Promise<CallDecision> {
  const account = { userId, name: userName, plan, keyId, position }
  const { kind, name } = parseRuledName(tool)
  return decideCall(decider, {
    caller: { account, policies, rules, client: NO_CLIENT },
    server: { name: server, default: byDefault },
    kind,
    name,
    definition: verdict === 'not_served' ? 'pending' : { revision },
    arguments: JSON.parse(argumentsText),
    argumentsText,
    read: new Set(read),
  })
}

interface DecidingRule {
  readonly kind: string
  readonly id: number
  readonly name: string
  readonly origin?: RuleOrigin
}

interface EvaluatedCall {
  readonly call: StoredToolCall
  readonly before: CallDecision
  readonly after: CallDecision
  readonly effects: readonly ToolEffect[]
}

const COUNTED = ['newly_denied', 'newly_allowed', 'newly_needing_approval'] as const

type RuleCounts = DecidingRule & Record<(typeof COUNTED)[number], number>

class ToolCallTally {
  readonly #maxExamples: number
  readonly #unevaluated = new Map<string, number>()
  readonly #differences = new Map<string, number>()
  readonly #effects = new Map<ToolEffect | 'unchanged', number>()
  readonly #rules = new Map<string, RuleCounts>()
  readonly #examples: EvaluatedCall[] = []
  readonly #outcomes = { before: noVerdicts(), after: noVerdicts() }
  #calls = 0
  #evaluated = 0
  #same = 0

  constructor(maxExamples: number) {
    this.#maxExamples = maxExamples
  }

  skip(reason: string): void {
    this.#calls += 1
    increment(this.#unevaluated, reason)
  }

  add(call: StoredToolCall, before: CallDecision, after: CallDecision, caller: CurrentCaller): void {
    this.#calls += 1
    this.#evaluated += 1
    this.#outcomes.before[before.verdict] += 1
    this.#outcomes.after[after.verdict] += 1
    const effects = findToolEffects(before, after)
    for (const effect of effects) {
      increment(this.#effects, effect)
      this.#countRule(effect, before, after)
    }
    if (effects.length === 0) increment(this.#effects, 'unchanged')
    else if (this.#examples.length < this.#maxExamples) this.#examples.push({ call, before, after, effects })
    const difference = findToolDifference(call, before, caller)
    if (difference === undefined) this.#same += 1
    else increment(this.#differences, difference)
  }

  #countRule(effect: ToolEffect, before: CallDecision, after: CallDecision): void {
    const counted = COUNTED.find((name) => name === effect)
    const rule = counted && findDecidingRule(counted === 'newly_allowed' ? before : after)
    if (counted === undefined || rule === undefined) return
    const key = ruleKey(rule.kind, rule.id)
    const counts = this.#rules.get(key) ?? {
      ...{ ...rule, newly_denied: 0, newly_allowed: 0, newly_needing_approval: 0 },
    }
    counts[counted] += 1
    this.#rules.set(key, counts)
  }

  report(isTruncated: boolean): ToolCallsReport {
    const names = [...TOOL_EFFECTS, 'unchanged'] as const
    return {
      calls: this.#calls,
      is_truncated: isTruncated,
      evaluated: this.#evaluated,
      not_evaluated: listReasons(this.#unevaluated),
      effects: Object.fromEntries(
        names.map((name) => [name, this.#effects.get(name) ?? 0]),
      ) as ToolCallsReport['effects'],
      outcomes: this.#outcomes,
      rules: [...this.#rules.values()].map((counts) => ({ ...counts, ...showRule(counts) })),
      examples: this.#examples.map(showExample),
      reproduced: { same: this.#same, different: listReasons(this.#differences) },
    }
  }
}

function noVerdicts(): Record<CallDecision['verdict'], number> {
  return Object.fromEntries(CALL_VERDICTS.map((verdict) => [verdict, 0])) as never
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function listReasons(counts: ReadonlyMap<string, number>) {
  return [...counts].map(([reason, calls]) => ({ reason, calls }))
}

/** Compares two decisions about the same call. Empty: the drafts change nothing. */
function findToolEffects(before: CallDecision, after: CallDecision): readonly ToolEffect[] {
  if (before === after) return []
  if (before.error !== undefined && after.error !== undefined)
    return describeRefusal(before) === describeRefusal(after) ? [] : ['denied_otherwise']
  if (after.error !== undefined) return ['newly_denied']
  const effects: ToolEffect[] = []
  if (before.error !== undefined) effects.push('newly_allowed')
  const [waited, waits] = [before, after].map(({ verdict }) => verdict === 'pending_approval')
  if (waits && !waited) effects.push('newly_needing_approval')
  if (waited && !waits) effects.push('no_longer_needing_approval')
  if (before.error !== undefined) return effects
  for (const [action, more, less] of [
    ['mask', 'masked', 'unmasked'],
    ['warn', 'warned', 'unwarned'],
  ] as const) {
    const [had, has] = [before, after].map((decision) => appliedRules(decision, action))
    if (has?.some((key) => !had?.includes(key))) effects.push(more)
    if (had?.some((key) => !has?.includes(key))) effects.push(less)
  }
  return effects
}

function appliedRules({ trace }: CallDecision, action: string): readonly string[] {
  const applied = trace.filter((entry) => entry.action === action && entry.outcome === 'applied')
  return applied.map(({ kind, rule_id }) => ruleKey(kind, rule_id))
}

function describeRefusal(decision: CallDecision): string {
  const rule = findDecidingRule(decision)
  return JSON.stringify([decision.verdict, rule && ruleKey(rule.kind, rule.id)])
}

function findDecidingRule({ verdict, rule, trace }: CallDecision): DecidingRule | undefined {
  if (verdict !== 'blocked') return rule && { kind: 'tool', ...rule }
  const last = trace.findLast(({ kind }) => kind === 'firewall')
  if (last === undefined) return undefined
  const { kind, rule_id: id, name, origin } = last
  return { kind, id, name, ...(origin && { origin }) }
}

/** Why today's rules decide otherwise than what was recorded. Undefined: it is the same. */
function findToolDifference(
  call: StoredToolCall,
  { verdict }: CallDecision,
  { rulesPosition }: CurrentCaller,
): string | undefined {
  if (isRecordedAs(call, verdict)) return undefined
  if (rulesPosition > call.rulesPosition) return 'rules_changed'
  // With prompts recorded as masked, the arguments are those that were sent.
  const text = call.argumentsText ?? '{}'
  const isExact = digestOfArguments(JSON.parse(text), text) === call.argumentsDigest
  return isExact ? 'different' : 'recorded_masked'
}

function showRule({ kind, id, name, origin }: DecidingRule) {
  return {
    ...{ kind, id: showDraftId(id), name },
    ...(origin && { origin: { ...origin, id: showDraftId(origin.id) } }),
  }
}

function showExample({ call, before, after, effects }: EvaluatedCall): ToolCallsReport['examples'][number] {
  const { id, time, userId, server, tool } = call
  const shown = { before: showDecision(before), after: showDecision(after) }
  return { x_request_id: id, time, user_id: userId, server, tool, effects: [...effects], ...shown }
}

/** Longer arguments are not shown. */
const MAX_ARGUMENTS = 2000

function showDecision(decision: CallDecision): ToolCallsReport['examples'][number]['before'] {
  const { verdict, error, argumentsText } = decision
  const rule = findDecidingRule(decision)
  const isShown = argumentsText !== undefined && argumentsText.length <= MAX_ARGUMENTS
  return {
    verdict,
    rule: rule === undefined ? null : showRule(rule),
    ...(error && { error: showSimulatedError(error) as never }),
    arguments: isShown ? (JSON.parse(argumentsText) as JsonObject) : null,
  }
}
