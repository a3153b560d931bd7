import { GatewayError, type Rule, type RuleSet } from '../../core/contract/index.ts'
import { type Precondition, revisionEtag } from '../../core/http/change-headers.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import type { RuleOwner } from '../../projections/events/rules.ts'
import type { RuleChange, RuleCommands, RuleKind } from '../rules/index.ts'
import type { AuditEntry } from './audit-entries.ts'

interface RevertContext {
  readonly kind: RuleKind
  readonly commands: RuleCommands
  readonly owner: RuleOwner
  readonly ruleId: number
  /** The rule's history, not empty. */
  readonly entries: readonly AuditEntry[]
  /** Position of the last rule event when the history was read. */
  readonly readAt: number
  /** The current rules. */
  rules(): RuleSet
}

/**
 * Builds a change that restores the content of an earlier revision. A deleted rule is restored with its
 * id. Throws 400 if the revision does not exist, is a deletion, or has content that is no longer valid.
 */
export function revertRule(context: RevertContext, revertedTo: number, expected: Precondition): RuleChange {
  const { kind, commands, owner, ruleId, entries } = context
  // Validated like a new rule: content that was valid then may not be valid any more.
  const content = kind.parseNew(findContent(entries, revertedTo))
  return {
    ruleId,
    async prepare() {
      await kind.prepare?.([content], 'policyId' in owner ? owner.policyId : owner.userId)
      kind.check?.(content, owner)
    },
    decide() {
      const current = (context.rules()[kind.name] as readonly Rule[]).find(({ id }) => id === ruleId)
      if (current !== undefined) {
        expected(revisionEtag(current.revision), 'rule')
        return [kind.updated(owner, ruleId, content, { revertedTo })]
      }
      if (context.rules().position !== context.readAt) throw new HistoryChangedError()
      expected(revisionEtag(entries.length), 'rule')
      const revision = entries.length + 1
      const createdAt = entries[0]?.record.metadata.time
      return [kind.created(owner, ruleId, content, { revertedTo, revision, ...(createdAt && { createdAt }) })]
    },
    outcome: (_, rules) => commands.showIn(ruleId, rules),
  }
}

/** The rules changed between reading the history and deciding. The history must be read again. */
export class HistoryChangedError extends GatewayError {
  constructor() {
    const message = 'The rules were changed by another request at the same time. Try again.'
    super('conflict', message, { retryAfter: 1 })
  }
}

function findContent(entries: readonly AuditEntry[], revision: number) {
  const entry = entries[revision - 1]
  if (entry === undefined) {
    const message = `revision must be from 1 to ${entries.length}: the rule has no revision ${revision}.`
    throw invalidParameterError('revision', message)
  }
  const content = entry.after()
  if (content !== null) return content
  throw invalidParameterError(
    'revision',
    `revision ${revision} deleted the rule and has no content to restore. Choose another revision.`,
  )
}
