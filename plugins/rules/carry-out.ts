import type { Author } from '../../core/contract/index.ts'
import { rulesStream } from '../../core/events/rules.ts'
import type { IdSource } from '../../projections/id-source.ts'
import type { Rules } from '../../projections/rules.ts'
import type { EventWriter } from '../../projections/writer.ts'
import type { RuleChange, RuleChangeResult } from './changes.ts'

export interface RuleServices {
  readonly rules: Rules
  readonly ids: IdSource
  readonly writer: EventWriter
}

/** Makes all changes to a user's rules in one append, or none; resolves when the next request sees them. */
export async function executeRuleChanges(
  changes: readonly RuleChange[],
  { rules, ids, writer }: RuleServices,
  userId: number,
  author: Author,
): Promise<readonly RuleChangeResult[]> {
  const numbered = await giveNumbers(changes, ids, author)
  const decide = () => numbered.flatMap(({ change, ruleId }) => change.decide(ruleId))
  await writer.write({ stream: rulesStream(userId), revision: () => rules.revision(userId), decide }, author)
  return numbered.map(({ change, ruleId }) => change.outcome(ruleId))
}

/** Each change with its rule's number; new rules get theirs here. */
async function giveNumbers(changes: readonly RuleChange[], ids: IdSource, author: Author) {
  const count = changes.filter(({ ruleId }) => ruleId === undefined).length
  let next = count === 0 ? 0 : await ids.reserve(count, author)
  return changes.map((change) => ({ change, ruleId: change.ruleId ?? next++ }))
}
