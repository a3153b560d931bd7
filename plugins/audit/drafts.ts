import type { FirewallRule, RoutingRule, RuleSet } from '../../core/contract/index.ts'
import { anyRevision } from '../../core/http/conditional.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { evolveUserRules, type RuleEvent } from '../../projections/events/rules.ts'
import { toPastRuleSet } from '../../projections/history.ts'
import { RULE_KINDS, type RuleKindName } from '../../projections/rules.ts'
import { toUserRules } from '../../projections/user-rules.ts'
import type { RuleCommandSet } from '../rules/index.ts'
import { checkPatternSize, prefixErrors, prefixRejection, type RuleChange } from '../rules/index.ts'
import type { RuleDraft, RuleDrafts } from './simulation.ts'

/**
 * Higher than every real id, so that new drafts sort after all rules of the same priority, as new rules do.
 */
export const FIRST_DRAFT_ID = 2 ** 52

/** Arbitrary: no decision depends on the time of a rule. */
const DRAFT_TIME = new Date(0).toISOString()

/**
 * Adds drafts to the rules of an owner by validating them and applying the events that they would cause. A
 * draft with an id changes the stored rule with that id. A draft without an id is a new rule; in the result,
 * new rules have the ids -1, -2, … in the order of the drafts. See docs/decisions/rules.md, "Drafts are added
 * to the stored rules".
 */
export async function addDrafts(
  stored: RuleSet,
  drafts: RuleDrafts,
  commandSet: RuleCommandSet,
  path: string,
): Promise<RuleSet> {
  let nextId = FIRST_DRAFT_ID
  const { ownerId, origin, position } = stored
  const draftedRules = toUserRules(stored)
  const record = { revision: -1, position, metadata: { time: DRAFT_TIME } }
  const draftedSet = (): RuleSet => ({
    ...toPastRuleSet(ownerId, draftedRules),
    ...(origin && { origin }),
  })
  const pendingEvents: RuleEvent[] = []
  const changes: { readonly path: string; readonly change: RuleChange }[] = []
  const slice = createCooperativeYield()

  function addDraft(kind: RuleKindName, { id, ...body }: RuleDraft, draftPath: string): void {
    const commands = commandSet[kind](ownerId, draftedSet)
    const change = id === undefined ? commands.create(body) : commands.update(id, body, anyRevision)
    changes.push({ path: draftPath, change })
    const events = change.decide(change.ruleId ?? nextId++)
    pendingEvents.push(...events)
    for (const event of events) evolveUserRules(draftedRules, event, record)
  }

  // Reading a body with many drafts takes a good part of a slice.
  await slice.yieldNow()
  for (const kind of RULE_KINDS) {
    for (const [index, draft] of (drafts[kind] ?? []).entries()) {
      const draftPath = `${path}.${kind}[${index}]`
      prefixErrors(draftPath, () => addDraft(kind, draft, draftPath))
      if (slice.isDue()) await slice.yieldNow()
    }
  }
  await slice.yieldNow()
  checkPatternSize(stored, pendingEvents)
  // What a write would refuse is refused here, too.
  for (const each of changes) await prefixRejection(each.path, each.change)
  const rules = draftedSet()
  // The patterns of drafts are compiled like those of stored rules.
  for (const kind of RULE_KINDS) await commandSet[kind](ownerId, () => rules).prepare()
  return { ...rules, routing: rules.routing.map(renumberDraft), firewall: rules.firewall.map(renumberDraft) }
}

function renumberDraft<Rule extends RoutingRule | FirewallRule>(rule: Rule): Rule {
  return rule.id < FIRST_DRAFT_ID ? rule : { ...rule, id: showDraftId(rule.id) }
}

/** Returns an id as it is shown: those of drafts are -1, -2, … */
export function showDraftId(id: number): number {
  return id < FIRST_DRAFT_ID ? id : FIRST_DRAFT_ID - id - 1
}
