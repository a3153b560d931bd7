import { type FirewallRule, GatewayError, type RoutingRule, type RuleSet } from '../../core/contract/index.ts'
import {
  checkRevision,
  type ExpectedRuleRevision,
  type RuleChange,
  type RuleCommands,
} from '../rules/rule-commands.ts'
import type { RuleKind } from '../rules/rule-kind.ts'
import type { AuditEntry } from './audit-entries.ts'
import { badParameter } from './find-entries.ts'

/** What a revert works on. */
interface RevertContext<Rule extends RoutingRule | FirewallRule, Content> {
  readonly kind: RuleKind<Rule, Content>
  readonly desk: RuleCommands
  readonly userId: number
  readonly ruleId: number
  /** The rule's history, not empty. */
  readonly history: readonly AuditEntry[]
  /** Position of the user's last rule event when the history was read. */
  readonly readAt: number
  /** The user's rules when the change is decided on. */
  rules(): RuleSet
}

/** Prepares a new event with the content of an old revision; a deleted rule comes back under its own id. */
export function revertRule<Rule extends RoutingRule | FirewallRule, Content>(
  scene: RevertContext<Rule, Content>,
  revertedTo: number,
  expected: ExpectedRuleRevision,
): RuleChange {
  const { kind, desk, userId, ruleId, history } = scene
  // Checked as a new rule is: what was allowed then may not be any more.
  const content = kind.parseNew(findContent(history, revertedTo))
  return {
    ruleId,
    decide() {
      const present = scene.rules()[kind.name].find(({ id }) => id === ruleId)
      if (present !== undefined) {
        checkRevision(present.revision, expected)
        return [kind.updated(userId, ruleId, content, { revertedTo })]
      }
      if (scene.rules().position !== scene.readAt) throw new HistoryChangedError()
      checkRevision(history.length, expected)
      const revision = history.length + 1
      const createdAt = history[0]?.record.metadata.time
      return [
        kind.created(userId, ruleId, content, { revertedTo, revision, ...(createdAt && { createdAt }) }),
      ]
    },
    outcome: () => desk.show(ruleId),
  }
}

/** The rules changed between reading the history and deciding: read it again. */
export class HistoryChangedError extends GatewayError {
  constructor() {
    super('conflict', 'The rules were changed at the same moment. Try again.')
  }
}

function findContent(history: readonly AuditEntry[], revision: number) {
  const entry = history[revision - 1]
  if (entry === undefined) {
    throw badParameter('revision', `The rule has the revisions 1 to ${history.length} and no ${revision}.`)
  }
  const content = entry.after()
  if (content !== null) return content
  throw badParameter(
    'revision',
    `Revision ${revision} is the rule's deletion: there is nothing to go back to.`,
  )
}
