import { GatewayError, type Position, type RuleSet } from '../../core/contract/index.ts'
import type { AppliedChange } from '../../core/http/change-headers.ts'
import { isRuleEvent, type RuleEvent, ruleKindOf } from '../../projections/events/rules.ts'
import type { History } from '../../projections/history.ts'
import type { RuleKindName } from '../../projections/rules.ts'
import type { CreateRuleCommands, RuleCommands } from './rule-commands.ts'

type PastChanges = Pick<History, 'eventsOfChange' | 'rulesOf'>

/** Changes to rules that a request made earlier, and the rules right after them. */
export interface PastRuleChange {
  readonly events: readonly RuleEvent[]
  readonly rules: RuleSet
}

/** Reads what a request with an `Idempotency-Key` changed before. */
export async function readRuleChange(
  change: AppliedChange,
  history: PastChanges,
  ownerId: number,
): Promise<PastRuleChange> {
  const past = await history.eventsOfChange(change)
  const events = past.flatMap(({ event }) => (event !== undefined && isRuleEvent(event) ? [event] : []))
  const position: Position = past.at(-1)?.record.position ?? 0
  const rules = await history.rulesOf(ownerId, { type: 'position', position, param: 'as_of' })
  return { events, rules }
}

/** Returns commands that show the rules as they were right after the change. */
export async function pastCommands(
  { rules }: PastRuleChange,
  createCommands: CreateRuleCommands,
): Promise<Pick<RuleCommands, 'show'>> {
  const commands = createCommands(rules.ownerId, () => rules)
  await commands.prepare()
  return commands
}

/** Returns the ids of the rules of one kind that a change created, in order. */
export function createdRuleIds({ events }: PastRuleChange, kind: RuleKindName): number[] {
  const created = events.filter((event) => 'content' in event.data && ruleKindOf(event) === kind)
  return created.map(({ data }) => data.ruleId)
}

/** Returns the id of the rule that a change of a single rule was about. */
export function changedRuleId({ events: [event] }: PastRuleChange): number {
  if (event !== undefined) return event.data.ruleId
  throw new GatewayError('internal_error', 'The events of the change cannot be read by this version.')
}
