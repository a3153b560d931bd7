import type { JsonObject, OperatorScope, Rule, RuleSet } from '../../core/contract/index.ts'
import type { AsOf } from '../../core/util/as-of.ts'
import { isOwnPolicy } from '../../projections/operator-scope.ts'
import { isRuleKind, type RuleKindName } from '../../projections/rules.ts'
import type { StoredRecord } from '../ledger/index.ts'
import { narrowRecord, showRecord } from '../ledger/index.ts'
import type { RuleKind } from '../rules/index.ts'
import type { OverviewServices } from './services.ts'

type ExplainServices = Pick<
  OverviewServices,
  'kinds' | 'policies' | 'rules' | 'userHistory' | 'policyHistory'
>

/**
 * Shows the record of a request with each of its rules, as it was then and as it is now. Of rules that do not
 * belong to the scope, the trace is all there is.
 */
export async function explainRequest(
  record: StoredRecord,
  services: ExplainServices,
  scope?: OperatorScope,
): Promise<JsonObject> {
  function isShown(policyId: number | undefined): boolean {
    if (scope === undefined) return true
    if (policyId === undefined) return scope.hasUser(record.userId)
    const policy = services.policies.policy(policyId)
    return policy !== undefined && isOwnPolicy(policy, scope)
  }

  const seen = new Set<string>()
  const rules: JsonObject[] = []
  for (const { kind, rule_id: id, origin } of record.rules) {
    const key = `${kind}:${id}`
    if (!isRuleKind(kind) || seen.has(key) || !isShown(origin?.id)) continue
    seen.add(key)
    const then = findRule(await readRulesThen(record, origin?.id, services), kind, id)
    const current = origin ? services.policies.rulesOf(origin.id) : services.rules.of(record.userId)
    const now = findRule(current, kind, id)
    rules.push({
      kind,
      id,
      ...(origin && { origin }),
      state: now === undefined ? 'deleted' : now.revision === then?.revision ? 'unchanged' : 'changed',
      as_decided: then ? showRule(kind, then, services) : null,
      current: now ? showRule(kind, now, services) : null,
    })
  }
  return { ...showRecord(narrowRecord(record, scope)), rules }
}

/** Undefined if the history cannot be read, such as that of a log which was replaced. */
function readRulesThen(
  { userId, rulesPosition }: StoredRecord,
  policyId: number | undefined,
  { userHistory, policyHistory }: ExplainServices,
): Promise<RuleSet | undefined> {
  const asOf: AsOf = { type: 'position', position: rulesPosition, param: 'rules_position' }
  const rules =
    policyId === undefined ? userHistory.rulesOf(userId, asOf) : policyHistory.rulesOf(policyId, asOf)
  return rules.catch(() => undefined)
}

function findRule(rules: RuleSet | undefined, kind: RuleKindName, id: number): Rule | undefined {
  const list: readonly Rule[] = rules?.[kind] ?? []
  return list.find((rule) => rule.id === id)
}

function showRule(kind: RuleKindName, rule: Rule, { kinds }: ExplainServices): JsonObject {
  return (kinds[kind] as RuleKind).show(rule)
}
