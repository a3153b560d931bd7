import type { Static } from '../../core/contract/index.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import type { Policies } from '../../projections/policies.ts'
import { readBudgetShares } from '../budget/index.ts'
import type { UsageGroup } from '../ledger/index.ts'
import { DAY_MS } from '../ledger/index.ts'
import type { RuleKinds } from '../rules/index.ts'
import type { AttentionSchema } from './schemas.ts'
import type { OverviewServices } from './services.ts'

export type Attention = Static<typeof AttentionSchema>

/** A rule that is younger than this may not have had its chance yet. */
const MIN_AGE_MS = 7 * DAY_MS

/** Days in which a rule must have done something. */
export const UNUSED_DAYS = 30

const MAX_ITEMS = 50

/**
 * Returns the enabled rules of policies that cannot be evaluated, and those that did nothing for a month.
 * Rules of users are theirs to look after.
 */
export async function checkPolicyRules(
  policies: Pick<Policies, 'policies' | 'rulesOf'>,
  kinds: RuleKinds,
  used: readonly UsageGroup[],
  now: number,
): Promise<readonly Attention[]> {
  const usedRules = new Set(used.map(({ rule }) => `${rule?.kind}:${rule?.id}`))
  const found: Attention[] = []
  for (const { id: policyId, name: policy, isEnabled } of policies.policies()) {
    if (!isEnabled) continue
    const origin = { type: 'policy' as const, id: policyId, name: policy }
    const rules = policies.rulesOf(policyId)
    const { firewall } = rules
    await kinds.firewall.prepare?.(firewall, policyId)
    for (const kind of ['firewall', 'routing', 'tool'] as const)
      for (const { id, name, is_enabled, updated_at } of rules[kind]) {
        if (!is_enabled) continue
        const isOld = now - Date.parse(updated_at) > MIN_AGE_MS
        const rule = { kind, id, name, origin }
        const title = `Rule "${name}" of policy "${policy}"`
        if (isOld && !usedRules.has(`${kind}:${id}`))
          found.push({
            code: 'rule_never_matched',
            severity: 'info',
            message: `${title} has done nothing for ${UNUSED_DAYS} days.`,
            rule,
          })
      }
    for (const each of firewall) {
      const error = each.is_enabled ? kinds.firewall.show(each).pattern_error : undefined
      if (typeof error === 'string')
        found.push({
          code: 'pattern_not_evaluable',
          severity: each.action === 'warn' ? 'warning' : 'error',
          message: `Rule "${each.name}" of policy "${policy}" never matches: ${error}.`,
          rule: { kind: 'firewall', id: each.id, name: each.name, origin },
        })
    }
  }
  return found.slice(0, MAX_ITEMS)
}

/** The share of a budget without one of its own at which it needs attention. */
const WARN_RATIO = 0.8

/** Returns the budgets of which most is spent. Rejects if the ledger is away. */
export async function checkBudgets(services: OverviewServices, now: number): Promise<readonly Attention[]> {
  const shares = await readBudgetShares(services, now)
  return shares
    .filter(({ share, budget }) => share >= (budget.warnRatio ?? WARN_RATIO))
    .map(({ share, percent, title, budget, ids }) => ({
      code: share >= 1 ? 'budget_spent' : 'budget_nearly_spent',
      severity: share >= 1 ? 'error' : 'warning',
      message: `${percent} of the budget of ${title} is spent (${budget.limitUsd} USD, ${budget.period}).`,
      ...ids,
    }))
}

/** Changes are signed within the hour. */
const MAX_UNSIGNED_MS = 3 * 3_600_000

/** Returns what is wrong with the event log and its checkpoints. */
export function checkLog(
  { subscription, streams }: Pick<OverviewServices, 'subscription' | 'streams'>,
  checkpoint: { readonly time: string } | undefined,
  contradiction?: { readonly reason: string },
): readonly Attention[] {
  const found: Attention[] = []
  const state = subscription.state()
  if (state !== 'following')
    found.push({ code: 'event_log_away', severity: 'error', message: `The event log is ${state}.` })
  const damaged = streams.damaged()
  for (const { stream } of damaged.slice(0, MAX_ITEMS)) {
    const message = `The stream ${stream} of the event log cannot be read completely.`
    found.push({ code: 'stream_damaged', severity: 'error', message })
  }
  if (contradiction) {
    const message = `${contradiction.reason} Nothing is signed. Run "signalbox log verify".`
    found.push({ code: 'event_log_contradicted', severity: 'error', message })
  }
  const newest = subscription.newest()
  const unsignedMs = checkpoint && newest ? Date.parse(newest.metadata.time) - Date.parse(checkpoint.time) : 0
  if (unsignedMs > MAX_UNSIGNED_MS) {
    const message = 'There are changes that no checkpoint covers for hours. See the log of the gateway.'
    found.push({ code: 'checkpoint_late', severity: 'warning', message })
  }
  return found
}

/** Reports that a part of the check failed, in place of its result. */
export function ledgerAway(error: unknown): Attention {
  const message = `The request ledger cannot be read: ${errorMessage(error)}`
  return { code: 'ledger_away', severity: 'error', message }
}
