import type { FirewallRule, RoutingRule, RuleSet } from '../../../core/contract/index.ts'
import { rulesAt } from '../../../projections/past.ts'
import { evolveUserRules, type UserRules } from '../../../projections/rule-book.ts'
import type { RuleKindName } from '../../../projections/rules.ts'
import type { RuleCommandSet } from '../../rules/batch.ts'
import { prefixErrors } from '../../rules/within.ts'
import type { Draft, Drafts } from './read-simulation.ts'

/** New drafts are numbered from here on, so that they come after all others of their priority, as new rules do. */
const FIRST = 2 ** 52

/** Nothing decides by it. */
const DRAFT_TIME = new Date(0).toISOString()

/**
 * A book's rules after the drafts were made real: checked, and applied as the events that they would be. A draft with an id changes the
 * rule that has it, one without is new and gets the id -1, -2, … in the order given.
 */
export function addDrafts(userId: number, book: UserRules, drafts: Drafts, desks: RuleCommandSet): RuleSet {
  let next = FIRST
  const entry = { revision: book.revision, position: book.position, metadata: { time: DRAFT_TIME } }

  function add(kind: RuleKindName, { id, ...body }: Draft): void {
    const desk = desks[kind](userId, () => rulesAt(userId, book))
    const change = id === undefined ? desk.create(body) : desk.update(id, body, 'any')
    for (const event of change.decide(change.ruleId ?? next++)) evolveUserRules(book, event, entry)
  }

  for (const kind of ['routing', 'firewall'] as const) {
    for (const [place, draft] of (drafts[kind] ?? []).entries()) {
      prefixErrors(`rules.${kind}[${place}]`, () => add(kind, draft))
    }
  }
  const rules = rulesAt(userId, book)
  return { ...rules, routing: rules.routing.map(renumber), firewall: rules.firewall.map(renumber) }
}

function renumber<Rule extends RoutingRule | FirewallRule>(rule: Rule): Rule {
  return rule.id < FIRST ? rule : { ...rule, id: FIRST - rule.id - 1 }
}
